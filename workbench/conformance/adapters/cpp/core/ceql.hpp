// CEL in the words of CEQL, the query language of CORE: SELECT … FROM … WHERE … PARTITION BY … WITHIN ….
//
// Types, variables and attributes get names of their own (T0, V0, a0), as CEQL has reserved words. Each event has its
// position as its first attribute, p, then those that the query mentions. Nothing of CORE is needed here.
#pragma once

#include "cerify_protocol.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace cerify::core {

using Value = std::variant<std::int64_t, double, std::string>;

// An event of the type with this number in the declaration; time is in nanoseconds.
struct Event {
    std::size_t type;
    std::vector<Value> attributes;
    std::int64_t time;
};

// A stream declaration, a query over it, the events, and the variables and types of the query by their names in CEQL.
struct Translation {
    std::string declaration, query;
    std::vector<Event> events;
    std::map<std::string, std::string> variables;
};

constexpr const char* MANUAL = "https://github.com/CORE-cer/CORE/blob/main/";
constexpr const char* GRAMMAR = "src/core_server/internal/parsing/ceql_query/CEQLQueryParser.g4";

[[noreturn]] inline void skip(const std::string& reason, const std::string& page = GRAMMAR) {
    throw Skip(reason, MANUAL + page);
}

enum class Kind { integer, real, text };

// The kinds of the attributes that a query mentions, for each type of event.
class Declaration {
public:
    Declaration(const Run& run, const Json& tree);

    const std::vector<std::string>& types() const { return types_; }
    const std::vector<std::string>& attributes() const { return attributes_; }
    std::string type(const std::string& name) const { return "T" + std::to_string(index(types_, name)); }
    std::string attribute(const std::string& name) const { return "a" + std::to_string(index(attributes_, name)); }
    bool is_type(const std::string& name) const { return std::count(types_.begin(), types_.end(), name) > 0; }
    std::optional<Kind> kind(const std::string& type, const std::string& attribute) const {
        const auto found = kinds_.find({type, attribute});
        return found == kinds_.end() ? std::nullopt : std::optional(found->second);
    }
    std::string text() const;
    std::vector<Event> events(const Json& events) const;

private:
    static std::size_t index(const std::vector<std::string>& names, const std::string& name) {
        return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    }
    static Kind kind_of(const Json& value);
    void read(const Json& events);
    void assume(const Json& schema, const Json& tree);
    Value converted(const Json& value, Kind kind) const;

    std::vector<std::string> types_, attributes_;
    std::map<std::pair<std::string, std::string>, Kind> kinds_;
    std::set<std::string> seen_;  // the types of the events
};

inline Kind Declaration::kind_of(const Json& value) {
    if (value.is<std::int64_t>()) return Kind::integer;
    if (value.is<double>()) return Kind::real;
    if (value.is<std::string>()) return Kind::text;
    skip("conditions, keys and windows are of numbers and strings; CEQL has no truth values");
}

inline Declaration::Declaration(const Run& run, const Json& tree) {
    std::set<std::string> types, attributes;
    tree.each_node([&](const Json& node) {
        const std::string& kind = node["node"].text();
        if (kind == "Event") types.insert(node["type"].text());
        if (kind == "Attribute") attributes.insert(node["name"].text());
        if (kind == "PartitionBy" || kind == "AttributeWindow") attributes.insert(node["attribute"].text());
    });
    if (attributes.count("time")) skip("a condition on the time of an event: it is no attribute");
    for (const Json& event : run.events.items()) types.insert(event["type"].text());
    types_.assign(types.begin(), types.end());
    attributes_.assign(attributes.begin(), attributes.end());
    read(run.events);
    assume(run.schema, tree);
}

// The kinds that the events have; an attribute with integers and floats is a float.
inline void Declaration::read(const Json& events) {
    std::map<std::pair<std::string, std::string>, std::size_t> missing;
    for (const Json& event : events.items()) {
        const std::string& type = event["type"].text();
        seen_.insert(type);
        for (const std::string& attribute : attributes_) {
            const Json& value = event[attribute];
            if (value.null()) {
                ++missing[{type, attribute}];
                continue;
            }
            const Kind kind = kind_of(value);
            const auto [known, fresh] = kinds_.try_emplace({type, attribute}, kind);
            if (fresh || known->second == kind) continue;
            if (known->second == Kind::text || kind == Kind::text) skip("an attribute has values of one kind");
            known->second = Kind::real;
        }
    }
    for (const auto& [where, count] : missing)
        if (kinds_.count(where)) skip("an event has all attributes of its type");
}

// The kinds for types of which there is no event, as the schema has them, or else the constants of the query.
inline void Declaration::assume(const Json& schema, const Json& tree) {
    std::map<std::string, Kind> compared;
    tree.each_node([&](const Json& node) {
        const std::string& kind = node["node"].text();
        const bool text = (kind == "Comparison" && (node["left"]["value"].is<std::string>() ||
                                                    node["right"]["value"].is<std::string>())) ||
                          kind == "Like";
        node.each_node([&](const Json& below) {
            if (text && below["node"].text() == "Attribute") compared[below["name"].text()] = Kind::text;
        });
    });
    for (const auto& [where, kind] : kinds_) compared.try_emplace(where.second, kind);
    for (const std::string& type : types_) {
        if (seen_.count(type)) continue;
        for (const std::string& attribute : attributes_) {
            const Json& declared = schema[type][attribute];
            if (!schema.null() && !schema[type].null() && declared.null()) continue;
            Kind kind = compared.count(attribute) ? compared[attribute] : Kind::integer;
            if (!declared.null()) {
                const std::string& name = declared.text();
                if (name == "bool" || name == "timestamp") skip("attributes are numbers and strings");
                kind = name == "int" ? Kind::integer : name == "string" ? Kind::text : Kind::real;
            }
            kinds_.emplace(std::make_pair(type, attribute), kind);
        }
    }
}

inline std::string Declaration::text() const {
    static const char* const NAMES[] = {"int", "double", "string"};
    std::string text = "CREATE STREAM S {";
    for (const std::string& name : types_) {
        text += (name == types_.front() ? " EVENT " : ", EVENT ") + type(name) + " { p:int";
        for (const std::string& one : attributes_)
            if (const auto of = kind(name, one)) text += ", " + attribute(one) + ":" + NAMES[static_cast<int>(*of)];
        text += " }";
    }
    return text + " }";
}

inline Value Declaration::converted(const Json& value, Kind kind) const {
    if (kind == Kind::text) return value.text();
    if (kind == Kind::integer) return value.as<std::int64_t>();
    if (value.is<std::int64_t>() && std::abs(value.real()) > 9007199254740992.0)
        skip("an attribute of floats has an integer that is none");
    return value.real();
}

// The events with their positions as times; a window of time puts others in their place.
inline std::vector<Event> Declaration::events(const Json& events) const {
    std::vector<Event> found;
    for (const Json& event : events.items()) {
        const std::string& type = event["type"].text();
        const auto position = static_cast<std::int64_t>(found.size());
        Event one{index(types_, type), {position}, position};
        for (const std::string& attribute : attributes_)
            if (const auto of = kind(type, attribute)) one.attributes.push_back(converted(event[attribute], *of));
        found.push_back(std::move(one));
    }
    return found;
}

using Labels = std::map<std::string, std::set<std::string>>;  // for each variable the types of the events that it binds

// The variables that a formula binds, types included.
inline Labels labels_of(const Json& tree) {
    if (tree["node"].text() == "Event") return {{tree["type"].text(), {tree["type"].text()}}};
    Labels found;
    for (const char* operand : {"phi", "left", "right"}) {
        if (tree[operand].null()) continue;
        for (const auto& [variable, types] : labels_of(tree[operand])) found[variable].insert(types.begin(), types.end());
    }
    if (tree["node"].text() == "In") {
        std::set<std::string> all;
        for (const auto& [variable, types] : found) all.insert(types.begin(), types.end());
        found[tree["variable"].text()].insert(all.begin(), all.end());
    }
    return found;
}

// One query in CEQL. The parts of it are written by the member functions; what CEQL has no words for throws Skip.
class Query {
public:
    explicit Query(const Run& run) : tree_(run.tree), declaration_(run, run.tree) {
        for (const auto& [variable, types] : labels_of(tree_)) {
            if (!declaration_.is_type(variable)) names_.emplace(variable, "V" + std::to_string(names_.size()));
            else if (types != std::set<std::string>{variable}) skip("AS has a name that is no type's");
        }
        tree_.each_node([&](const Json& node) {
            if (node["node"].text() == "In" && declaration_.is_type(node["variable"].text()))
                skip("AS has a name that is no type's");
        });
        translation_.events = declaration_.events(run.events);
        translation_.declaration = declaration_.text();
        translation_.query = text(run);
        for (const std::string& type : declaration_.types()) translation_.variables[declaration_.type(type)] = type;
        for (const auto& [variable, name] : names_) translation_.variables[name] = variable;
    }

    Translation translation() && { return std::move(translation_); }

private:
    std::string text(const Run& run) {
        const Json* phi = &tree_;
        std::string selected = "*";
        if ((*phi)["node"].text() == "Project") {
            const Labels bound = labels_of((*phi)["phi"]);
            selected.clear();
            for (const Json& variable : (*phi)["variables"].items())
                if (bound.count(variable.text())) selected += (selected.empty() ? "" : ", ") + name(variable.text());
            if (selected.empty()) skip("SELECT NONE");
            phi = &(*phi)["phi"];
        }
        static const std::map<std::string, std::string> STRATEGIES = {
            {"Strict", "STRICT "}, {"Next", "NEXT "}, {"Last", "LAST "}, {"Max", "MAX "}};
        const auto strategy = STRATEGIES.find((*phi)["node"].text());
        if (strategy != STRATEGIES.end()) phi = &(*phi)["phi"];
        const std::string where = outer(*phi, strategy == STRATEGIES.end());
        const std::string chosen = strategy == STRATEGIES.end() ? "" : strategy->second;
        return "SELECT " + chosen + selected + " FROM S WHERE " + where + partition() + window(run);
    }

    std::string name(const std::string& variable) const {
        return declaration_.is_type(variable) ? declaration_.type(variable) : names_.at(variable);
    }

    // A formula without its outermost windows and partitions, which commute with filters and variables around them.
    std::string outer(const Json& tree, bool windows) {
        const std::string& node = tree["node"].text();
        if (windows && node == "Within") {
            if (!window_.null()) skip("a query has one window");
            window_ = tree["window"];
            return outer(tree["phi"], windows);
        }
        if (windows && node == "PartitionBy") {
            keys_.insert(tree["attribute"].text());
            return outer(tree["phi"], windows);
        }
        if (node == "Filter") return filtered(tree, outer(tree["phi"], windows));
        if (node == "In") return "(" + outer(tree["phi"], windows) + " AS " + name(tree["variable"].text()) + ")";
        return formula(tree);
    }

    std::string formula(const Json& tree) {
        const std::string& node = tree["node"].text();
        if (node == "Event") return declaration_.type(tree["type"].text());
        if (node == "Seq") return binary(tree, " ; ");
        if (node == "ContiguousSeq") return binary(tree, " : ");
        if (node == "Or") return binary(tree, " OR ");
        if (node == "Plus") return "(" + formula(tree["phi"]) + " +)";
        if (node == "ContiguousPlus") return "(" + formula(tree["phi"]) + " :+)";
        if (node == "Repeat") return repeated(tree, " ; ", " +)");
        if (node == "ContiguousRepeat") return repeated(tree, " : ", " :+)");
        if (node == "In") return "(" + formula(tree["phi"]) + " AS " + name(tree["variable"].text()) + ")";
        if (node == "Filter") return filtered(tree, formula(tree["phi"]));
        if (node == "Within" || node == "PartitionBy") skip(node + ": windows and partitions are of the whole query");
        if (node == "Project") skip("PROJECT inside a formula: SELECT is of the whole query");
        if (node == "Strict" || node == "Next" || node == "Last" || node == "Max")
            skip("a strategy is of the whole query, without a window or a partition inside of it");
        skip(node + ": CEQL has no such operator");
    }

    std::string binary(const Json& tree, const std::string& symbol) {
        return "(" + formula(tree["left"]) + symbol + formula(tree["right"]) + ")";
    }

    // φ{2,3} as (φ ; φ) OR (φ ; φ ; φ), and φ{2,} as φ ; φ+.
    std::string repeated(const Json& tree, const std::string& symbol, const std::string& plus) {
        constexpr std::int64_t MOST = 12;
        const std::int64_t least = tree["least"].as<std::int64_t>();
        const std::int64_t most = tree["most"].null() ? least : tree["most"].as<std::int64_t>();
        if (least < 1 || most > MOST) skip("repetitions are written out, up to " + std::to_string(MOST) + " rounds");
        const std::string phi = formula(tree["phi"]);
        std::string found;
        for (std::int64_t rounds = least; rounds <= most; ++rounds) {
            std::string one;
            for (std::int64_t round = 1; round < rounds; ++round) one += phi + symbol;
            one += tree["most"].null() ? "(" + phi + plus : phi;
            found += (found.empty() ? "(" : " OR (") + one + ")";
        }
        return "(" + found + ")";
    }

    // A formula with a filter, or as it is where the filter is true of every match.
    std::string filtered(const Json& tree, const std::string& phi) {
        const auto filter = condition(tree["condition"], labels_of(tree["phi"]));
        return filter ? "(" + phi + " FILTER " + *filter + ")" : phi;
    }

    // A condition as a filter; none if it is true because its variables bind nothing.
    std::optional<std::string> condition(const Json& tree, const Labels& bound) {
        const std::string& node = tree["node"].text();
        if (node == "Conjunction" || node == "Disjunction") {
            const auto left = condition(tree["left"], bound), right = condition(tree["right"], bound);
            if (left && right) return "(" + *left + (node == "Conjunction" ? " AND " : " OR ") + *right + ")";
            if (node == "Disjunction") return std::nullopt;
            return left ? left : right;
        }
        if (node != "Every") skip(node + ": a filter is on one event");
        const auto types = bound.find(tree["variable"].text());
        if (types == bound.end()) return std::nullopt;
        const Json& predicate = tree["predicate"];
        require_attributes(predicate, types->second);
        return name(types->first) + "[" + truth(predicate) + "]";
    }

    // Every attribute of the predicate is one of each type, of kinds that can be compared; else CEL makes it false, CORE fails.
    void require_attributes(const Json& predicate, const std::set<std::string>& types) const {
        predicate.each_node([&](const Json& node) {
            if (node["node"].text() != "Attribute") return;
            for (const std::string& type : types)
                if (!declaration_.kind(type, node["name"].text()))
                    skip("a condition is on attributes that all events of its variable have");
        });
        predicate.each_node([&](const Json& node) {
            const std::string& kind = node["node"].text();
            const bool text = kind == "Like";
            if (kind != "Comparison" && kind != "InRange" && !text) return;
            std::set<bool> kinds;
            if (text) kinds.insert(true);
            for (const char* part : {"left", "right", "term", "low", "high"}) {
                const Json& value = node[part];
                if (value.number()) kinds.insert(false);
                if (value.is<std::string>()) kinds.insert(true);
                if (value.is<bool>()) skip("CEQL has no truth values");
                value.each_node([&](const Json& term) { add_kinds(term, types, kinds); });
            }
            if (kinds.size() != 1) skip("a comparison is of values of one kind");
        });
    }

    void add_kinds(const Json& term, const std::set<std::string>& types, std::set<bool>& kinds) const {
        const Json& value = term["value"];
        if (value.number()) kinds.insert(false);
        if (value.is<std::string>()) kinds.insert(true);
        if (value.is<bool>()) skip("CEQL has no truth values");
        if (term["node"].text() == "Attribute")
            for (const std::string& type : types) kinds.insert(*declaration_.kind(type, term["name"].text()) == Kind::text);
    }

    std::string truth(const Json& tree) const {
        const std::string& node = tree["node"].text();
        if (node == "Both") return "(" + truth(tree["left"]) + " AND " + truth(tree["right"]) + ")";
        if (node == "Either") return "(" + truth(tree["left"]) + " OR " + truth(tree["right"]) + ")";
        if (node == "Complement") return "(NOT " + truth(tree["predicate"]) + ")";
        if (node == "InRange")
            return "(" + term(tree["term"]) + " IN RANGE (" + bound(tree["low"]) + ", " + bound(tree["high"]) + "))";
        if (node == "Like") {
            if (tree["term"]["node"].text() != "Attribute") skip("LIKE is on an attribute");
            return "(" + term(tree["term"]) + " LIKE " + literal(Json("\\A(?:" + tree["pattern"].text() + ")\\z")) + ")";
        }
        if (node == "OneOf") skip("IN {…} is parsed, and not implemented: it throws in CORE");
        if (node != "Comparison") skip(node + ": CEQL has no such condition");
        const std::string& comparator = tree["comparator"].text();
        const bool text = tree["left"]["value"].is<std::string>() || tree["right"]["value"].is<std::string>();
        if (text && comparator != "=" && comparator != "!=") skip("a string constant is compared by = and !=");
        return "(" + term(tree["left"]) + " " + comparator + " " + term(tree["right"]) + ")";
    }

    std::string term(const Json& tree) const {
        const std::string& node = tree["node"].text();
        if (node == "Attribute") return declaration_.attribute(tree["name"].text());
        if (node == "Constant") return literal(tree["value"]);
        if (node != "Arithmetic") skip(node + ": CEQL has no such value");
        if (tree["operator"].text() == "/") skip("division of integers truncates");
        return "(" + term(tree["left"]) + " " + tree["operator"].text() + " " + term(tree["right"]) + ")";
    }

    static std::string bound(const Json& value) {
        if (value.is<std::string>()) skip("IN RANGE is of numbers");
        return literal(value);
    }

    static std::string literal(const Json& value) {
        if (value.is<std::string>()) {
            std::string text;
            for (const char c : value.text()) text += c == '\'' ? "''" : std::string(1, c);
            return "'" + text + "'";
        }
        if (!value.number() || !std::isfinite(value.real())) skip("constants are numbers and strings");
        if (value.is<std::int64_t>()) return value.dump();
        char digits[400];
        std::snprintf(digits, sizeof digits, "%.*f", 17, value.real());
        std::string text = digits;
        while (text.back() == '0' && text[text.size() - 2] != '.') text.pop_back();
        if (std::strtod(text.c_str(), nullptr) != value.real()) skip("a constant needs more than 17 decimals");
        return text;
    }

    std::string partition() const {
        if (keys_.size() > 2) skip("PARTITION BY has two lists at most");
        std::string text;
        for (const std::string& key : keys_) {
            bool there = false;
            for (const std::string& type : declaration_.types()) there = there || declaration_.kind(type, key);
            if (!there) skip("no event has the attribute of the partition");
            text += (text.empty() ? " PARTITION BY [" : ", [") + declaration_.attribute(key) + "]";
        }
        return text;
    }

    // The window. In CEQL n EVENTS spans n + 1 positions, and n [a] a difference of n − 1.
    std::string window(const Run& run) {
        if (window_.null()) return "";
        const std::string& node = window_["node"].text();
        if (node == "EventWindow") return " WITHIN " + std::to_string(window_["count"].as<std::int64_t>() - 1) + " EVENTS";
        if (node == "TimeWindow") {
            set_times(run.events);
            const std::string& unit = window_["unit"].text();
            const Json& amount = window_["amount"];
            if (unit == "day") {
                if (!amount.is<std::int64_t>()) skip("time is in hours, minutes and seconds");
                return " WITHIN " + std::to_string(24 * amount.as<std::int64_t>()) + " HOURS";
            }
            const std::string word = unit == "hour" ? " HOURS" : unit == "minute" ? " MINUTES" : " SECONDS";
            return " WITHIN " + literal(amount) + word;
        }
        if (node != "AttributeWindow") skip(node + ": windows are of events, of time or of an attribute");
        const std::string& attribute = window_["attribute"].text();
        if (!window_["width"].is<std::int64_t>()) skip("the window of an attribute is of integers");
        for (const std::string& type : declaration_.types())
            if (declaration_.kind(type, attribute) != Kind::integer)
                skip("the attribute of a window is an integer of every event");
        std::int64_t least = 0;
        for (const Json& event : run.events.items()) {
            if (event[attribute].as<std::int64_t>() < least) skip("the attribute of a window is a time, which does not decrease");
            least = event[attribute].as<std::int64_t>();
        }
        const std::int64_t width = window_["width"].as<std::int64_t>() + 1;
        return " WITHIN " + std::to_string(width) + " [" + declaration_.attribute(attribute) + "]";
    }

    void set_times(const Json& events) {
        constexpr std::int64_t SECOND = 1'000'000'000;
        std::int64_t least = 0;
        for (std::size_t i = 0; i < translation_.events.size(); ++i) {
            const Json& time = events.items()[i]["time"];
            if (!time.is<std::int64_t>()) skip("under a window of time every event has one, in whole seconds");
            const std::int64_t seconds = time.as<std::int64_t>();
            if (seconds < least || seconds > std::numeric_limits<std::int64_t>::max() / SECOND)
                skip("times are not negative, and do not decrease");
            least = seconds;
            translation_.events[i].time = seconds * SECOND;
        }
    }

    const Json& tree_;
    Declaration declaration_;
    std::map<std::string, std::string> names_;  // of the variables that are no types, in CEQL
    Json window_;
    std::set<std::string> keys_;
    Translation translation_;
};

// The run in CEQL. Throws Skip for what CEQL has no words for.
inline Translation translated(const Run& run) {
    if (run.tree.null()) skip("the query does not parse");
    return Query(run).translation();
}

}  // namespace cerify::core
