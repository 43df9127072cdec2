// CORE as an engine under test: what it claims, and how its complex events become matches.
#pragma once

#include "ceql.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace cerify::core {

// A complex event: the position after whose event it is reported, and its events with the variables that mark them.
struct ComplexEvent {
    std::int64_t at;
    std::vector<std::pair<std::int64_t, std::string>> marks;
};

// Finds the complex events, and sets the time that it takes for the events.
using Search = std::function<std::vector<ComplexEvent>(const Translation&, Cpu&)>;

inline std::set<Match> answer(const Run& run, const Search& search) {
    if (run.output != "matches" && run.output != "valuations") skip("matches and valuations only");
    const Translation translation = translated(run);
    *run.translation = translation.declaration + "\n" + translation.query;
    std::set<Match> found;
    for (const ComplexEvent& one : search(translation, *run.cpu)) {
        Match match{one.at, {}};
        std::set<std::int64_t> events;
        for (const auto& [position, mark] : one.marks) {
            events.insert(position);
            match.bindings[translation.variables.at(mark)].push_back(position);
        }
        match.events.assign(events.begin(), events.end());
        for (auto& [variable, positions] : match.bindings) std::sort(positions.begin(), positions.end());
        found.insert(std::move(match));
    }
    return found;
}

// Answers the messages of standard input with matches that the search finds.
inline int serve(const std::string& version, const Search& search) {
    const Json claims = Json::parse(R"({"cel": {
        "operators": ["seq", "cseq", "plus", "cplus", "repeat", "crepeat", "or", "in", "project", "filter", "within",
                      "partition"],
        "strategies": ["strict", "nxt", "last", "max"],
        "predicates": ["comparison", "range", "like", "arithmetic", "not", "and", "or"],
        "output": ["matches", "valuations"],
        "ordered_time": true}})");
    return cerify::serve({"core", version, {"cel"}, claims}, [&](const Run& run) { return answer(run, search); });
}

}  // namespace cerify::core
