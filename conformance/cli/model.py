"""``conformance model``: will a model run there, as it is."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("model")
@click.argument("target", metavar="TARGET")
@click.option("--device", metavar="DEVICE", help="Device type to run it on: neuron, cpu, ...; not with --against.")
@click.option("--train", is_flag=True, help="Also run backward and a step of AdamW.")
@click.option("--generate", "new_tokens", metavar="N", type=click.IntRange(min=1), help="Also generate N tokens.")
@click.option(
    "--compile",
    "compiles",
    is_flag=True,
    help="Also compile forward, with static and dynamic shapes: time, graphs, breaks, what other sizes cost.",
)
@click.option(
    "--against",
    metavar="DB|DIR",
    type=click.Path(path_type=Path),
    help="Do not run it there: ask a results database, or the folder of a published site, what would happen.",
)
@click.option(
    "--run",
    "selector",
    metavar="SELECTOR",
    default="latest",
    show_default=True,
    help="With --against a database: which run, as in `conformance report`.",
)
@click.option(
    "--probe",
    type=click.Choice(["auto", "backend", "observer", "profiler", "none"]),
    default="auto",
    show_default=True,
    help="How fallbacks are seen.",
)
@click.option(
    "--tolerance",
    metavar="T",
    type=click.FloatRange(min=0),
    help="How far results may be from the CPU's, absolute and as a share; default 0.001, 0.02 for 16 bits.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="For random weights and inputs.")
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=600.0,
    show_default=True,
    help="Time limit for everything; 0: none.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "md", "html"]),
    default="text",
    show_default=True,
    help="For people, for scripts, for a job summary, or as a page.",
)
@click.option(
    "--top", metavar="N", type=click.IntRange(min=0), default=20, show_default=True, help="List N overloads; 0: all."
)
def command(
    target: str,
    device: str | None,
    train: bool,
    new_tokens: int | None,
    compiles: bool,
    against: Path | None,
    selector: str,
    probe: str,
    tolerance: float | None,
    seed: int,
    timeout: float,
    form: str,
    top: int,
) -> None:
    """Run a model on a device, compare it with the CPU, and say whether it runs as it is.

    TARGET is package.module:function or file.py:function, a function that returns a module and its example inputs (a
    tensor, a tuple or a dict); or an architecture of an installed transformers, such as llama, as a tiny model.

    The model runs in a process of its own: a device that crashes or hangs costs one line. Exit code 1 unless it runs.
    """
    import sys

    from conformance.errors import UsageError
    from conformance.readiness.answer import Question, ask_results, run_there
    from conformance.readiness.target import parse_target
    from conformance.report.output import write_report

    parse_target(target)
    question = Question(
        target=target,
        train=train,
        new_tokens=new_tokens or 0,
        seed=seed,
        probe=probe,
        tolerance=tolerance,
        timeout=timeout,
        compiles=compiles,
    )
    if against is not None:
        readiness = ask_results(question, against, selector=selector, device=device)
    elif device is None:
        raise UsageError("no-device-given", "give --device DEVICE to run the model there, or --against results")
    else:
        from conformance.devices import adapter_for

        adapter_for(device)
        readiness = run_there(question, device)
    match form:
        case "json":
            from conformance.report.model_json import render_model_json

            text = render_model_json(readiness)
        case "md":
            from conformance.report.model_markdown import render_model_markdown

            text = render_model_markdown(readiness, top=top)
        case "html":
            from conformance.report.model_html import render_model_html

            text = render_model_html(readiness, top=top)
        case _:
            from conformance.report.model_text import render_model_text

            text = render_model_text(readiness, top=top)
    write_report(text)
    sys.exit(0 if readiness.verdict.runs else 1)
