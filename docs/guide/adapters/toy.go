// A toy engine, and the adapter that puts it under test: sequences of event types, such as A ; B.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"regexp"
	"strings"
)

type object = map[string]any

type message struct {
	Cmd, ID, Query, Output string
	Events                 []struct{ Type string }
}

var claimed = regexp.MustCompile(`^[\pL\pN_]+( ; [\pL\pN_]+)*$`)

// All ways to take an A, and later a B. For each step the engine keeps the matches so far that wait there.
func matches(m message) []object {
	types := strings.Split(m.Query, " ; ")
	waiting, found := make([][][]int, len(types)+1), []object{}
	waiting[0] = [][]int{{}}
	for position, event := range m.Events {
		for step := len(types) - 1; step >= 0; step-- {
			if event.Type != types[step] {
				continue
			}
			longer := [][]int{}
			for _, match := range waiting[step] {
				longer = append(longer, append(append([]int{}, match...), position))
			}
			waiting[step+1] = longer
			for _, match := range longer {
				if step+1 == len(types) {
					found = append(found, object{"at": position, "events": match})
				}
			}
		}
	}
	return found
}

func main() {
	lines, answers := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		var m message
		if err != nil || json.Unmarshal(line, &m) != nil || m.Cmd == "stop" {
			return
		}
		switch {
		case m.Cmd == "start":
			engine := object{"name": "toy", "version": "1"}
			answers.Encode(object{"protocol": 1, "engine": engine, "languages": []string{"cel"}})
		case m.Output == "matches" && claimed.MatchString(m.Query):
			answers.Encode(object{"id": m.ID, "matches": matches(m)})
		default:
			answers.Encode(object{"id": m.ID, "skipped": "only sequences of event types"})
		}
	}
}
