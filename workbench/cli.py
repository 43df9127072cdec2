"""The command line: it finds the command, and turns an error into a message and an exit status.

The exit status of every command is 0 for yes or pass, 1 for no or fail, 2 for an error of usage or input, and 70 for a
defect of cerify.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any, NoReturn

import click
from click.shell_completion import CompletionItem

from cerify.semantics.arguments import ALLOW_MORE_TIME, LANGUAGE_ARGUMENT, did_you_mean, nearest
from cerify.semantics.errors import CerifyError, InputError, InternalError, QueryWarning, shortened
from cerify.semantics.packages import naming_extras
from cerify.terminal import echo_error, ending_signals, prepare_streams, printable

COMMANDS = {
    "check": "Tell whether a formula parses and fits a schema.",
    "claims": "Check the claims of the papers.",
    "conform": "Put an engine under test.",
    "count": "Print how many matches a query has over a file of events.",
    "demo": "Run queries over real flights, test a built-in engine, and write a report.",
    "diff": "Say which detection rules in EQL or Sigma changed their meaning.",
    "draw": "Draw the automaton of a query, or a stream with its matches.",
    "engine": "Serve a built-in evaluator over the engine protocol.",
    "engines": "List the engines that can be tested by name.",
    "equiv": "Decide whether two queries have the same matches on every stream.",
    "explain": "Say why something matched, or why it did not.",
    "funnel": "Count how many keys reach each step of a sequence.",
    "fuzz": "Test an engine on random cases.",
    "grade": "Practise by writing a formula for a sentence.",
    "identify": "Find out what an engine means by its queries.",
    "match": "Print the matches of a query over a file of events.",
    "misses": "Print how far each start of a sequence came, and which step it lacked.",
    "normalize": "Rewrite a formula to a normal form.",
    "schema": "Print the types, attributes, kinds and ranges of a file of events.",
    "simplify": "Find a smaller query with the same meaning.",
    "step": "Show the evaluator at work, step by step.",
    "translate": "Write a query in another language.",
    "trend": "Compare stored conformance runs of an engine.",
    "vectors": "Write a complete test of a query for implementations of bounded size.",
    "verify": "Check a certificate of cerify equiv.",
}
UNREAD = 128 + 13  # the status that shells give for SIGPIPE


class _Commands(click.Group):
    """A group of commands that imports a command only when it is called, so that every command starts fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return load_command(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS:
            ctx.fail(f"no command {args[0]!r}{did_you_mean(args[0], COMMANDS) or '; cerify --help lists them'}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. If standard output is closed, exit here: click would exit with 1, which means "no"."""
        try:
            status = super().invoke(ctx)
            sys.stdout.flush()
            return status
        except BrokenPipeError:
            _discard_output()
            sys.exit(UNREAD)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = (CompletionItem(name, help=COMMANDS[name]) for name in sorted(COMMANDS) if name.startswith(incomplete))
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.command(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="cerify")
def cerify() -> None:
    """Evaluate, explain and compare complex event queries, and test engines."""


class CompilationNotice(logging.Handler):
    """A log handler that prints a notice at the first compilation of machine code, because that may take a minute."""

    def emit(self, record: logging.LogRecord) -> None:
        logging.getLogger("cerify").removeHandler(self)
        click.echo("cerify: compiling loops; this takes up to a minute, once per installation", err=True)


def _text_argument(argument: str) -> str:
    """Return an argument, with a blank before SQL that begins with a comment.

    Without the blank, click would read the comment `-- …` as an option.
    """
    pasted = re.match(r"--[^=]*?\s.*\b(SELECT|WITH|MATCH_RECOGNIZE)\b", argument, re.IGNORECASE | re.DOTALL)
    return argument if pasted is None else f" {argument}"


def main() -> NoReturn:
    """Run the command that the arguments name, and exit with its status."""
    prepare_streams()
    for number in ending_signals():  # exit by an exception, so that no engine under test is left running
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    warnings.simplefilter("ignore", QueryWarning)  # commands that read events print these warnings themselves
    if sys.stderr.isatty():
        logging.getLogger("cerify").setLevel(logging.INFO)
        logging.getLogger("cerify").addHandler(CompilationNotice())
    try:
        with naming_extras():
            status = cerify.main(list(map(_text_argument, sys.argv[1:])), prog_name="cerify", standalone_mode=False)
    except click.exceptions.Abort:
        fail("interrupted", 130)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        status = 2
    except click.ClickException as error:
        fail(_usage(error), 2)
    except CerifyError as error:
        said = re.sub(LANGUAGE_ARGUMENT, r"--language \1", printable(error.message))
        error.message = shortened(said.replace(ALLOW_MORE_TIME, "--time-limit"))
        fail(error.described(), 2)
    except OSError as error:  # files raise InputError, so this error comes from standard output
        _discard_output()
        fail(f"cannot write to standard output: {error.strerror}", 2)
    except Exception:  # Python's own status, 1, would mean the answer "no"
        traceback.print_exc()
        fail("this is a defect of cerify: do not use the output above, and please report the defect", 70)
    sys.exit(status if isinstance(status, int) else 0)


def _discard_output() -> None:
    """Redirect standard output to the null device, so that no write can fail at the exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def fail(message: str, status: int) -> NoReturn:
    """Print one message on standard error, and exit with the status."""
    echo_error(message)
    sys.exit(status)


def _usage(error: click.ClickException) -> str:
    """Return the message of a usage error, followed by the command that prints the help."""
    message = error.format_message()
    if isinstance(error, click.NoSuchOption):  # only the nearest name, as in other messages
        names = {option.lstrip("-"): option for option in error.possibilities or ()}
        near = nearest(error.option_name.lstrip("-"), names)
        message = error.message if near is None else f"{error.message.removesuffix('.')}. Did you mean {names[near]!r}?"
    message = re.sub(r"\. (Did you mean|It is one of)", lambda end: f"; {end[1].lower()}", message)
    message = printable(message[:1].lower() + message[1:].removesuffix("."))
    context = getattr(error, "ctx", None)
    return (
        f"{message}\ntry: {context.command_path} --help" if context is not None and "--help" not in message else message
    )


# ---------------------------------------------------------------------------------------------------------------------
# cerify claims: the ledger of claims, which is in the source of the project, not in the installed package.

MISSING = (
    "the ledger of claims is in the project's source, not in the installed package: "
    "clone the project, and run cerify claims in its folder"
)
ANY_ARGUMENTS = {"allow_extra_args": True, "ignore_unknown_options": True}


def _refuse() -> None:
    raise InputError(MISSING)


def _ledger() -> click.Command:
    """Return the command of the ledger; without the source, a command that says that the ledger is missing."""
    source = Path(__file__).resolve().parent.parent  # the path of an editable install
    root = next((root for root in (source, Path.cwd()) if (root / "proofs_tests" / "claims").is_dir()), None)
    if root is None:
        return click.Command("claims", context_settings=ANY_ARGUMENTS, callback=_refuse, help=f"Not here: {MISSING}.")
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    from proofs_tests.claims.__main__ import main

    command: click.Command = main
    return command


def load_command(name: str) -> click.Command:
    """Import the command of that name, one of COMMANDS."""
    match name:
        case "claims":
            return _ledger()
        case "conform" | "engines" | "identify" | "trend":
            from cerify.commands import conform

            return {
                "conform": conform.conform_command,
                "engines": conform.engines_command,
                "identify": conform.identify_command,
                "trend": conform.trend_command,
            }[name]
        case "count":
            from cerify.commands import match as count

            return count.count_command
        case "demo":
            from cerify.commands import demo

            return demo.demo_command
        case "diff":
            from cerify.commands import diff

            return diff.diff_command
        case "engine":
            from cerify.commands import engine

            return engine.engine_command
        case "equiv" | "verify":
            from cerify.commands import equiv

            return equiv.equiv_command if name == "equiv" else equiv.verify_command
        case "draw" | "explain" | "step":
            from cerify.commands import explain

            return {"draw": explain.draw_command, "explain": explain.explain_command, "step": explain.step_command}[
                name
            ]
        case "funnel":
            from cerify.commands import funnel

            return funnel.funnel_command
        case "fuzz":
            from cerify.commands import fuzz

            return fuzz.fuzz_command
        case "grade":
            from cerify.commands import grade

            return grade.grade_command
        case "match":
            from cerify.commands import match

            return match.match_command
        case "misses":
            from cerify.commands import explain as misses

            return misses.misses_command
        case "schema":
            from cerify.commands import schema

            return schema.schema_command
        case "translate":
            from cerify.commands import translate

            return translate.translate_command
        case "vectors":
            from cerify.commands import vectors

            return vectors.vectors_command
        case "check" | "normalize" | "simplify":
            from cerify.commands import simplify

            return {
                "check": simplify.check_command,
                "normalize": simplify.normalize_command,
                "simplify": simplify.simplify_command,
            }[name]
        case _:
            raise InternalError(f"no command {name!r}")


if __name__ == "__main__":
    main()
