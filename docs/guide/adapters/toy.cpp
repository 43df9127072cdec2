// A toy engine, and the adapter that puts it under test: sequences of event types, such as A ; B.
#include "cerify_protocol.hpp"

using Types = std::vector<std::string>;
using Positions = std::vector<std::int64_t>;

// The types of a sequence; it skips another query. A byte above 127 is part of a letter that is not English.
Types types_of(const std::string& query) {
    Types types(1);
    for (size_t i = 0; i < query.size(); ++i) {
        const unsigned char c = query[i];
        if (query.compare(i, 3, " ; ") == 0) {
            types.emplace_back();
            i += 2;
        } else if (std::isalnum(c) || c == '_' || c > 127) {
            types.back() += query[i];
        } else {
            throw cerify::Skip("only sequences of event types");
        }
    }
    return types;
}

// All ways to take an A, and later a B. For each step the engine keeps the matches so far that wait there.
std::set<cerify::Match> matches(const Types& types, const cerify::Json& events) {
    std::vector<std::vector<Positions>> waiting(types.size() + 1);
    waiting[0] = {{}};
    std::set<cerify::Match> found;
    std::int64_t position = 0;
    for (const cerify::Json& event : events.items()) {
        for (size_t step = types.size(); step-- > 0;) {
            if (event["type"].text() != types[step]) continue;
            std::vector<Positions> longer = waiting[step];
            for (Positions& match : longer) match.push_back(position);
            waiting[step + 1] = longer;
            if (step + 1 == types.size())
                for (const Positions& match : longer) found.insert({position, match});
        }
        ++position;
    }
    return found;
}

int main() {
    return cerify::serve({"toy", "1", {"cel"}, {}}, [](const cerify::Run& run) {
        if (run.output != "matches") throw cerify::Skip("only sequences of event types");
        return matches(types_of(run.query), run.events);
    });
}
