// Runs a query in CORE over a few events of the types A, B and C, and prints what is expected and what CORE reports.
#include "core_server/internal/interface/backend.hpp"
#include "core_server/library/components/result_handler/result_handler.hpp"
#include "shared/datatypes/value.hpp"
#include "shared/logging/setup.hpp"

#include <iostream>

struct Event { int type; std::int64_t x = 0; double y = 0; std::string s = ""; std::int64_t nanoseconds = -1; };
enum { A, B, C };

struct Printer : CORE::Library::Components::ResultHandler {
    explicit Printer(std::string& out) : ResultHandler(CORE::Library::Components::ResultHandlerType::CUSTOM), out(out) {}
    void start() override {} std::string get_identifier() const override { return "printer"; }
    void handle_complex_event(std::optional<CORE::Internal::tECS::Enumerator>&& enumerator) override {
        if (!enumerator) return;
        for (const auto& one : get_query_catalog().convert_enumerator(std::move(*enumerator))) {
            out += "{";
            for (const auto& event : one.events) out += (out.back() == '{' ? "" : " ") + event.attributes.at(0)->to_string();
            out += "} ";
        }
    }
    std::string& out;
};

inline void show(const std::string& query, const std::vector<Event>& events, const std::string& expected) {
    CORE::Internal::Logging::enable_logging_stdout()->set_log_level(quill::LogLevel::Critical);
    std::string got, attributes = " { p:int, x:int, y:double, s:string }";
    try {
        CORE::Internal::Interface::Backend<false> core;
        const auto stream = core.add_stream_type(core.parse_stream("CREATE STREAM S { EVENT A" + attributes + ", EVENT B" +
                                                                   attributes + ", EVENT C" + attributes + " }"));
        core.declare_query(core.parse_sent_query(query), std::make_unique<Printer>(got));
        std::int64_t position = 0;
        for (const Event& one : events) {
            using namespace CORE::Types;
            std::vector<std::shared_ptr<Value>> of{std::make_shared<IntValue>(position), std::make_shared<IntValue>(one.x),
                                                   std::make_shared<DoubleValue>(one.y), std::make_shared<StringValue>(one.s)};
            const auto time = one.nanoseconds < 0 ? position : one.nanoseconds;
            core.send_event_to_queries(stream.id, {std::make_shared<CORE::Types::Event>(stream.events_info[one.type].id, of, time)});
            ++position;
        }
    } catch (const std::exception& error) { got = error.what(); }
    std::cout << query << "\n    expected " << expected << "\n    CORE     " << (got.empty() ? "nothing" : got) << std::endl;
}
