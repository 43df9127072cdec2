// A toy engine, and the adapter that puts it under test: sequences of event types, such as A ; B.
#include <cctype>
#include <iostream>
#include <regex>
#include <string>
#include <vector>

using Match = std::vector<int>;

// A text of a message, as JSON writes it. An engine of your own reads messages with a library for JSON.
const std::string TEXT = R"re("((?:[^"\\]|\\.)*)")re";

std::string field(const std::string& line, const std::string& name) {
    std::smatch found;
    return std::regex_search(line, found, std::regex("\"" + name + "\"\\s*:\\s*" + TEXT)) ? found[1].str() : "";
}

// The types of the events. Events have no lists in them, so that the list ends at the first ] outside a text.
std::vector<std::string> typesOf(const std::string& line) {
    static const std::regex list("\"events\"\\s*:\\s*\\[((?:[^\\]\"]|\"(?:[^\"\\\\]|\\\\.)*\")*)\\]");
    static const std::regex type("\"type\"\\s*:\\s*" + TEXT);
    std::smatch found;
    std::vector<std::string> types;
    if (std::regex_search(line, found, list)) {
        const std::string events = found[1].str();
        for (std::sregex_iterator one(events.begin(), events.end(), type), end; one != end; ++one)
            types.push_back((*one)[1].str());
    }
    return types;
}

// The types of a sequence; none for another query. A byte above 127 is part of a letter that is not English.
std::vector<std::string> sequenceOf(const std::string& query) {
    std::vector<std::string> types(1);
    for (size_t i = 0; i < query.size(); ++i) {
        const unsigned char c = query[i];
        if (query.compare(i, 3, " ; ") == 0) {
            types.emplace_back();
            i += 2;
        } else if (std::isalnum(c) || c == '_' || c > 127) {
            types.back() += query[i];
        } else {
            return {};
        }
    }
    return types;
}

// All ways to take an A, and later a B. For each step the engine keeps the matches so far that wait there.
std::vector<Match> matches(const std::vector<std::string>& types, const std::vector<std::string>& events) {
    std::vector<std::vector<Match>> waiting(types.size() + 1);
    waiting[0] = {{}};
    std::vector<Match> found;
    for (size_t position = 0; position < events.size(); ++position) {
        for (size_t step = types.size(); step-- > 0;) {
            if (events[position] != types[step]) continue;
            std::vector<Match> longer = waiting[step];
            for (Match& match : longer) match.push_back(static_cast<int>(position));
            waiting[step + 1] = longer;
            if (step + 1 == types.size()) found.insert(found.end(), longer.begin(), longer.end());
        }
    }
    return found;
}

std::string json(const std::vector<Match>& found) {
    std::string text;
    for (const Match& match : found) {
        std::string positions;
        for (int position : match) positions += (positions.empty() ? "" : ",") + std::to_string(position);
        text += (text.empty() ? "" : ",") + ("{\"at\":" + std::to_string(match.back())) + ",\"events\":[" + positions + "]}";
    }
    return "[" + text + "]";
}

int main() {
    for (std::string line; std::getline(std::cin, line);) {
        const std::string cmd = field(line, "cmd"), id = field(line, "id");
        const std::vector<std::string> types = sequenceOf(field(line, "query"));
        if (cmd == "stop") break;
        if (cmd == "start")
            std::cout << R"({"protocol":1,"engine":{"name":"toy","version":"1"},"languages":["cel"]})";
        else if (field(line, "output") == "matches" && !types.empty())
            std::cout << "{\"id\":\"" << id << "\",\"matches\":" << json(matches(types, typesOf(line))) << "}";
        else
            std::cout << "{\"id\":\"" << id << R"(","skipped":"only sequences of event types"})";
        std::cout << std::endl;
    }
}
