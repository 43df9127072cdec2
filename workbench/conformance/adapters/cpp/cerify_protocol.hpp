// The engine protocol of cerify for engines in C++17: messages in JSON, one per line, and the loop that answers them.
//
//     std::set<cerify::Match> answer(const cerify::Run& run);  // or it throws Skip or Problem
//     int main() { return cerify::serve({"my-engine", "1.0", {"cel"}, {}}, answer); }
//
// A run has the query as text, and as a syntax tree in JSON: tree["node"] is the operator, the other members are its
// operands. What the engine prints to standard output goes to standard error.
#pragma once

#include <time.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace cerify {

// The engine does not claim this query; link is a page of its manual.
struct Skip : std::runtime_error {
    explicit Skip(const std::string& reason, std::string link = "") : std::runtime_error(reason), link(std::move(link)) {}
    std::string link;
};

// The run failed; code is parse, ill_formed, unsupported, budget or internal.
struct Problem : std::runtime_error {
    Problem(std::string code, const std::string& message) : std::runtime_error(message), code(std::move(code)) {}
    std::string code;
};

// A JSON value. Integers of 64 bits are std::int64_t, all other numbers double. Objects keep the order of their members.
class Json {
public:
    using Array = std::vector<Json>;
    using Object = std::vector<std::pair<std::string, Json>>;

    Json() : value(nullptr) {}
    Json(bool truth) : value(truth) {}
    Json(int number) : value(std::int64_t{number}) {}
    Json(std::int64_t number) : value(number) {}
    Json(double number) : value(number) {}
    Json(const char* text) : value(std::string(text)) {}
    Json(std::string text) : value(std::move(text)) {}
    Json(Array array) : value(std::move(array)) {}
    Json(Object object) : value(std::move(object)) {}

    // The value of a text. Throws Problem("parse") if it is not JSON.
    static Json parse(std::string_view text);

    std::string dump() const;

    template <class T>
    bool is() const { return std::holds_alternative<T>(value); }
    bool null() const { return is<std::nullptr_t>(); }
    bool number() const { return is<std::int64_t>() || is<double>(); }

    // The value as bool, std::int64_t, double, std::string, Array or Object. Throws Problem("ill_formed") if it is not one.
    template <class T>
    const T& as() const {
        if (const T* found = std::get_if<T>(&value)) return *found;
        throw Problem("ill_formed", "a JSON value of another kind is expected: " + dump());
    }
    const std::string& text() const { return as<std::string>(); }
    const Array& items() const { return as<Array>(); }
    const Object& members() const { return as<Object>(); }
    double real() const { return is<std::int64_t>() ? static_cast<double>(as<std::int64_t>()) : as<double>(); }

    // The member of an object; null if there is none, or if this is not an object.
    const Json& operator[](std::string_view name) const {
        static const Json nothing;
        if (const auto* object = std::get_if<Object>(&value))
            for (const auto& [key, member] : *object)
                if (key == name) return member;
        return nothing;
    }

    // Calls visit with each object that has a member "node" in this value, from left to right.
    void each_node(const std::function<void(const Json&)>& visit) const {
        if (is<Object>()) {
            if (!(*this)["node"].null()) visit(*this);
            for (const auto& member : members()) member.second.each_node(visit);
        } else if (is<Array>()) {
            for (const Json& item : items()) item.each_node(visit);
        }
    }

private:
    std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Array, Object> value;
};

namespace detail {

// A recursive-descent parser of JSON (RFC 8259).
class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    Json whole() {
        Json found = value();
        space();
        if (at_ != text_.size()) fail("end of text");
        return found;
    }

private:
    [[noreturn]] void fail(const std::string& expected) const {
        throw Problem("parse", "not JSON: " + expected + " expected at byte " + std::to_string(at_));
    }
    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    void space() {
        while (at_ < text_.size() && (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r')) ++at_;
    }
    bool accept(char c) {
        space();
        if (peek() != c) return false;
        ++at_;
        return true;
    }
    void expect(char c) {
        if (!accept(c)) fail(std::string("'") + c + "'");
    }
    bool word(std::string_view w) {
        if (text_.substr(at_, w.size()) != w) return false;
        at_ += w.size();
        return true;
    }

    Json value() {
        space();
        if (peek() == '{') return object();
        if (peek() == '[') return array();
        if (peek() == '"') return Json(string());
        if (word("null")) return Json();
        if (word("true")) return Json(true);
        if (word("false")) return Json(false);
        return number();
    }
    Json object() {
        Json::Object members;
        expect('{');
        if (accept('}')) return Json(std::move(members));
        do {
            space();
            std::string name = string();
            expect(':');
            members.emplace_back(std::move(name), value());
        } while (accept(','));
        expect('}');
        return Json(std::move(members));
    }
    Json array() {
        Json::Array items;
        expect('[');
        if (accept(']')) return Json(std::move(items));
        do items.push_back(value());
        while (accept(','));
        expect(']');
        return Json(std::move(items));
    }
    Json number() {
        const std::size_t begin = at_;
        while (at_ < text_.size() && std::string_view("+-0123456789.eE").find(peek()) != std::string_view::npos) ++at_;
        const std::string digits(text_.substr(begin, at_ - begin));
        char* end = nullptr;
        errno = 0;
        if (digits.find_first_of(".eE") == std::string::npos) {
            const std::int64_t whole = std::strtoll(digits.c_str(), &end, 10);
            if (!digits.empty() && *end == '\0' && errno == 0) return Json(whole);
        }
        const double real = std::strtod(digits.c_str(), &end);
        if (digits.empty() || *end != '\0') fail("a value");
        return Json(real);
    }
    unsigned hexadecimal() {
        if (at_ + 4 > text_.size()) fail("four hexadecimal digits");
        const std::string digits(text_.substr(at_, 4));
        at_ += 4;
        return static_cast<unsigned>(std::strtoul(digits.c_str(), nullptr, 16));
    }
    static void utf8(std::string& out, unsigned c) {
        if (c < 0x80) {
            out += static_cast<char>(c);
        } else {
            const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
            out += static_cast<char>((more == 1 ? 0xC0 : more == 2 ? 0xE0 : 0xF0) | (c >> (6 * more)));
            for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | ((c >> (6 * i)) & 0x3F));
        }
    }
    std::string string() {
        expect('"');
        std::string out;
        while (peek() != '"') {
            if (at_ >= text_.size()) fail("a closing quotation mark");
            const char c = text_[at_++];
            if (c != '\\') {
                out += c;
                continue;
            }
            const char escape = peek();
            ++at_;
            const std::size_t control = std::string_view("bfnrt").find(escape);
            if (control != std::string_view::npos) {
                out += "\b\f\n\r\t"[control];
            } else if (escape == 'u') {
                unsigned code = hexadecimal();
                if (code >= 0xD800 && code < 0xDC00 && word("\\u"))
                    code = 0x10000 + ((code - 0xD800) << 10) + (hexadecimal() - 0xDC00);
                utf8(out, code);
            } else {
                out += escape;
            }
        }
        ++at_;
        return out;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

inline std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", c);
            out += escape;
        } else {
            out += c;
        }
    }
    return out + '"';
}

}  // namespace detail

inline Json Json::parse(std::string_view text) { return detail::Parser(text).whole(); }

inline std::string Json::dump() const {
    if (null()) return "null";
    if (is<bool>()) return as<bool>() ? "true" : "false";
    if (is<std::int64_t>()) return std::to_string(as<std::int64_t>());
    if (is<std::string>()) return detail::quoted(text());
    std::string out;
    if (is<double>()) {
        char digits[32];
        std::snprintf(digits, sizeof digits, "%.17g", as<double>());
        return digits;
    }
    if (is<Array>()) {
        for (const Json& item : items()) out += (out.empty() ? "" : ",") + item.dump();
        return "[" + out + "]";
    }
    for (const auto& [name, member] : members())
        out += (out.empty() ? "" : ",") + detail::quoted(name) + ":" + member.dump();
    return "{" + out + "}";
}

// A match: the position after whose event it is reported, its positions in increasing order, and for each variable its own.
struct Match {
    std::int64_t at;
    std::vector<std::int64_t> events;
    std::map<std::string, std::vector<std::int64_t>> bindings = {};

    bool operator<(const Match& other) const {
        return std::tie(at, events, bindings) < std::tie(other.at, other.events, other.bindings);
    }
};

// The seconds of a clock: CLOCK_THREAD_CPUTIME_ID of the thread that asks, CLOCK_PROCESS_CPUTIME_ID of the process.
inline double seconds(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// The processor time for the events of a run, in seconds: of the thread that evaluates, and of the process. What an engine
// does not set is that of its whole answer.
struct Cpu {
    double thread = 0, process = 0;
};

// A query to run over a stream. tree, schema and the members of an event are null where the message has none. What is
// put into translation, the query in the engine's own terms, goes into the answer, and reports show it.
struct Run {
    std::string id, language, query, output;
    Json tree, schema, events;
    std::shared_ptr<Cpu> cpu = std::make_shared<Cpu>();
    std::shared_ptr<std::string> translation = std::make_shared<std::string>();

    static Run of(const Json& message) {
        const auto text = [&](const char* name) { return message[name].null() ? "" : message[name].text(); };
        return {text("id"),      text("language"),  text("query"),    text("output"),
                message["tree"], message["schema"], message["events"]};
    }
};

// What the engine says of itself. claims is the object of the protocol, by language; null: what is not claimed is skipped.
struct Engine {
    std::string name, version;
    std::vector<std::string> languages;
    Json claims;
};

using Answer = std::function<std::set<Match>(const Run&)>;

namespace detail {

inline Json positions(const std::vector<std::int64_t>& of) { return Json(Json::Array(of.begin(), of.end())); }

inline Json reported(const Run& run, std::set<Match> matches) {
    const bool valuations = run.output == "valuations";
    std::set<Match> once;
    for (Match match : matches) {
        if (!valuations) match.bindings.clear();
        once.insert(std::move(match));
    }
    Json::Array found;
    for (const Match& match : once) {
        Json::Object one{{"at", match.at}, {"events", positions(match.events)}};
        Json::Object bindings;
        for (const auto& [variable, of] : match.bindings) bindings.emplace_back(variable, positions(of));
        if (valuations) one.emplace_back("bindings", std::move(bindings));
        found.emplace_back(std::move(one));
    }
    Json::Object reply{{"id", run.id}, {"matches", std::move(found)}};
    if (!run.translation->empty()) reply.emplace_back("translation", *run.translation);
    return Json(std::move(reply));
}

inline Json failed(const Json& id, const std::string& code, const std::string& message) {
    return Json(Json::Object{{"id", id}, {"error", Json::Object{{"code", code}, {"message", message}}}});
}

inline Json measured(const Run& run, std::size_t count, const Cpu& begun) {
    Cpu cpu = *run.cpu;
    if (cpu.thread == 0) cpu.thread = seconds(CLOCK_THREAD_CPUTIME_ID) - begun.thread;
    if (cpu.process == 0) cpu.process = seconds(CLOCK_PROCESS_CPUTIME_ID) - begun.process;
    return Json(Json::Object{{"id", run.id},
                             {"count", static_cast<std::int64_t>(count)},
                             {"cpu", Json::Object{{"thread", cpu.thread}, {"process", cpu.process}}}});
}

inline Json ran(const Json& message, const Answer& answer) {
    const Json& id = message["id"];
    try {
        const Run run = Run::of(message);
        const Cpu begun{seconds(CLOCK_THREAD_CPUTIME_ID), seconds(CLOCK_PROCESS_CPUTIME_ID)};
        std::set<Match> matches = answer(run);
        if (message["cmd"].text() == "measure") return measured(run, matches.size(), begun);
        return reported(run, std::move(matches));
    } catch (const Skip& skip) {
        Json::Object reply{{"id", id}, {"skipped", skip.what()}};
        if (!skip.link.empty()) reply.emplace_back("link", skip.link);
        return Json(std::move(reply));
    } catch (const Problem& problem) {
        return failed(id, problem.code, problem.what());
    } catch (const std::bad_alloc& error) {
        return failed(id, "budget", "the run needed more memory than there is");
    } catch (const std::exception& error) {
        std::cerr << "query " << message["query"].dump() << ": " << error.what() << std::endl;
        return failed(id, "internal", error.what());
    }
}

inline Json started(const Engine& engine) {
    Json::Object reply{{"protocol", 1}, {"engine", Json::Object{{"name", engine.name}, {"version", engine.version}}}};
    reply.emplace_back("languages", Json::Array(engine.languages.begin(), engine.languages.end()));
    if (!engine.claims.null()) reply.emplace_back("claims", engine.claims);
    return Json(std::move(reply));
}

}  // namespace detail

// Answers the messages of standard input until stop, and returns the exit status.
inline int serve(const Engine& engine, const Answer& answer) {
    std::FILE* answers = fdopen(dup(1), "w");
    dup2(2, 1);
    for (std::string line; std::getline(std::cin, line);) {
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        Json reply;
        try {
            const Json message = Json::parse(line);
            const Json& cmd = message["cmd"];
            if (cmd.null()) throw Problem("internal", "the message has no cmd");
            if (cmd.text() == "stop") break;
            if (cmd.text() == "start") reply = detail::started(engine);
            else if (cmd.text() == "run" || cmd.text() == "measure") reply = detail::ran(message, answer);
            else throw Problem("internal", "unknown cmd; the protocol has start, run, measure and stop");
        } catch (const Problem& problem) {
            reply = detail::failed(Json(), "internal", problem.what());
        }
        std::fprintf(answers, "%s\n", reply.dump().c_str());
        std::fflush(answers);
    }
    std::fclose(answers);
    return 0;
}

}  // namespace cerify
