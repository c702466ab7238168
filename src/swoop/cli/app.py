"""The commands, their options and their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from swoop.cli import options as o
from swoop.cli.guard import guarded
from swoop.cli.help import Command, Group

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from swoop import __version__

        typer.echo(f"swoop {__version__}")
        raise typer.Exit


@app.callback()
def swoop(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="The version.")] = False,
) -> None:
    """The k most similar pairs of records in a sliding window of a stream, exactly.

    A record is a set of tokens with a time: the words of a post, the goods of a basket.

    [bold]Examples[/bold]

        swoop demo
        swoop run headlines.parquet --window '7 days'
        swoop stream incoming/ --window 1h
        swoop explain 1207 1193 headlines.parquet
    """


@app.command(cls=Command)
@guarded
def run(
    inputs: o.Inputs,
    id: o.Id = None,
    time: o.Time = None,
    text: o.Text = None,
    tokens: o.Tokens = None,
    stream: o.Stream = None,
    tokenizer: o.Tokenize = "words",
    time_unit: o.TimeUnit = None,
    time_format: o.TimeFormat = None,
    format: o.Format = None,
    window: o.WindowOption = "1 day",
    k: o.K = 10,
    similarity: o.SimilarityOption = "jaccard",
    min_similarity: o.MinSimilarity = None,
    out: Annotated[
        str | None,
        typer.Option(
            help="All stays of pairs in the top-k: a .parquet, .csv or .jsonl file, or a folder/ that Spark writes.",
            metavar="FILE",
        ),
    ] = None,
    show: Annotated[int, typer.Option(help="How many of the most similar pairs are shown.", metavar="N")] = 10,
    equal: Annotated[bool, typer.Option("--equal/--no-equal", help="Whether pairs of equal sets are shown.")] = True,
    as_json: o.Json = False,
    master: o.Master = None,
    memory: o.Memory = "2g",
) -> int:
    """Find the most similar pairs of a whole history, on files.

    The window slides over the history; whoever is among the k most similar pairs of any moment is a result.

    [bold]Examples[/bold]

        swoop run headlines.parquet --window '7 days'
        swoop run 'posts/*.jsonl' --time created_at --text title --text body
        swoop run baskets.parquet --tokens items -k 100 --out results.parquet
        swoop run clicks.csv.gz --time-unit ms --window 30min --json
    """
    from swoop.cli import run as command
    from swoop.cli.inputs import find_source

    return command.run(
        find_source(inputs, format),
        o.reading(id, time, text, tokens, stream, tokenizer, time_unit, time_format),
        command.Question(k, o.number_or_text(window), similarity, min_similarity),
        out=out,
        show=show,
        equal=equal,
        as_json=as_json,
        master=master,
        memory=memory,
    )


@app.command(cls=Command)
@guarded
def stream(
    source: Annotated[
        str, typer.Argument(help="A folder that files are put into, or kafka://host:port/topic with JSON.", metavar="SOURCE")
    ],
    id: o.Id = None,
    time: o.Time = None,
    text: o.Text = None,
    tokens: o.Tokens = None,
    side: o.Stream = None,
    tokenizer: o.Tokenize = "words",
    time_unit: o.TimeUnit = None,
    time_format: o.TimeFormat = None,
    format: o.Format = None,
    schema: Annotated[
        str | None,
        typer.Option(
            help="'id long, time string, text string'; by default from rows that are there.",
            metavar="COLUMNS",
            rich_help_panel=o.COLUMNS,
        ),
    ] = None,
    window: o.WindowOption = "1 hour",
    k: o.K = 10,
    similarity: o.SimilarityOption = "jaccard",
    min_similarity: o.MinSimilarity = None,
    lateness: Annotated[
        str | None,
        typer.Option(
            help="How long rows are waited for; 10 seconds, or 0 with integer times.", metavar="LENGTH", rich_help_panel=o.HOW
        ),
    ] = None,
    max_ahead: Annotated[
        str | None,
        typer.Option(
            help="Rows further ahead of the latest are rejected; 7 days or the window, off with integer times.",
            metavar="LENGTH|off",
            rich_help_panel=o.HOW,
        ),
    ] = None,
    changes: Annotated[
        str | None, typer.Option(help="Changes of the top-k also go to this folder or kafka://host:port/topic.", metavar="TO")
    ] = None,
    late: Annotated[str | None, typer.Option(help="Late rows go there; by default under the checkpoint.", metavar="TO")] = None,
    rejected: Annotated[
        str | None, typer.Option(help="Rows that cannot be used go there; by default under the checkpoint.", metavar="TO")
    ] = None,
    target_size: Annotated[
        str, typer.Option(help="Results in folders become one final file at this size.", metavar="SIZE")
    ] = "64 MB",
    final_after: Annotated[
        str | None,
        typer.Option(help="They also do so after this time; 10 minutes, and less at first.", metavar="LENGTH"),
    ] = None,
    retention: Annotated[
        str | None, typer.Option(help="Final files are deleted after this time; by default never.", metavar="LENGTH")
    ] = None,
    as_json: o.Json = False,
    checkpoint: Annotated[
        str | None, typer.Option(help="A folder to go on from when started again.", metavar="DIR", rich_help_panel=o.WHERE)
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Take what is there and end.", rich_help_panel=o.WHERE)] = False,
    no_flush: Annotated[
        bool,
        typer.Option("--no-flush", help="With --once, rows that wait do so until the next run.", rich_help_panel=o.WHERE),
    ] = False,
    trigger: Annotated[
        str | None,
        typer.Option(help="How often a batch is made, such as '1 second'.", metavar="LENGTH", rich_help_panel=o.WHERE),
    ] = None,
    idle: Annotated[
        str | None,
        typer.Option(help="Without rows for so long, time moves on by the clock.", metavar="LENGTH", rich_help_panel=o.WHERE),
    ] = None,
    batch_size: Annotated[
        str | None,
        typer.Option(
            help="At most so much in a batch: bytes of files (128 MB), or messages of a topic (200000).",
            metavar="SIZE",
            rich_help_panel=o.WHERE,
        ),
    ] = None,
    begin: Annotated[
        str,
        typer.Option("--from", help="Where a topic is begun: earliest or latest.", metavar="END", rich_help_panel=o.WHERE),
    ] = "earliest",
    serve: Annotated[
        int | None,
        typer.Option(help="Serve the live page at this port; 0 chooses one.", metavar="PORT", rich_help_panel=o.WHERE),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            help="Where the live page listens; others than this machine see it only if told.",
            metavar="ADDRESS",
            rich_help_panel=o.WHERE,
        ),
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(help="Who sees the live page must have this token.", metavar="TOKEN", rich_help_panel=o.WHERE),
    ] = None,
    jars: Annotated[
        str | None,
        typer.Option(
            help="Jars of Kafka's connector, with commas; else they are fetched.", metavar="FILES", rich_help_panel=o.WHERE
        ),
    ] = None,
    cells: Annotated[
        int,
        typer.Option(
            help="Spread the window over a cluster: 3, 6, 10, ... cells; 1 keeps it here.", metavar="N", rich_help_panel=o.WHERE
        ),
    ] = 1,
    master: o.Master = None,
    memory: o.Memory = "2g",
) -> int:
    """Follow the most similar pairs of a live stream.

    Ctrl-C ends it; with --checkpoint it can be taken up again.

    [bold]Examples[/bold]

        swoop stream incoming/ --window 1h
        swoop stream incoming/ --window 10min --checkpoint state --changes out
        swoop stream kafka://localhost:9092/posts --window 1h --serve 8000
        swoop stream incoming/ --once --json
        swoop stream hdfs:///incoming --master spark://master:7077 --cells 6 --checkpoint hdfs:///state
    """
    from swoop.cli import stream as command
    from swoop.cli.run import Question

    setting = command.Setting(
        source=source,
        format=format,
        schema=schema,
        begin=begin,
        checkpoint=checkpoint,
        changes=changes,
        late=late,
        rejected=rejected,
        target_size=target_size,
        final_after=final_after,
        retention=retention,
        lateness=None if lateness is None else o.number_or_text(lateness),
        max_ahead=None if max_ahead is None else o.number_or_text(max_ahead),
        trigger=trigger,
        batch_size=batch_size,
        idle=idle,
        once=once,
        flush=not no_flush,
        serve=serve,
        host=host,
        token=token,
        jars=jars,
        cells=cells,
        master=master,
        memory=memory,
    )
    reading = o.reading(id, time, text, tokens, side, tokenizer, time_unit, time_format)
    return command.stream(setting, reading, Question(k, o.number_or_text(window), similarity, min_similarity), as_json)


@app.command(cls=Command)
@guarded
def explain(
    newer: Annotated[str, typer.Argument(help="The id of one record.", metavar="NEWER")],
    older: Annotated[str, typer.Argument(help="The id of the other.", metavar="OLDER")],
    inputs: o.Inputs,
    id: o.Id = None,
    time: o.Time = None,
    text: o.Text = None,
    tokens: o.Tokens = None,
    tokenizer: o.Tokenize = "words",
    time_unit: o.TimeUnit = None,
    time_format: o.TimeFormat = None,
    format: o.Format = None,
    as_json: o.Json = False,
    master: o.Master = None,
    memory: o.Memory = "2g",
) -> int:
    """Show two records side by side.

    What they share, what only one of them has, and all similarities.

    [bold]Examples[/bold]

        swoop explain 5159 5016 headlines.parquet
        swoop explain 'post 3' 'post 1' 'posts/*.jsonl' --tokenizer 3-chars --json
    """
    from swoop.cli import explain as command
    from swoop.cli.inputs import find_source

    reading = o.reading(id, time, text, tokens, None, tokenizer, time_unit, time_format)
    return command.explain(newer, older, find_source(inputs, format), reading, as_json=as_json, master=master, memory=memory)


@app.command(cls=Command)
@guarded
def demo(
    seconds: Annotated[float, typer.Option(help="How long it runs.", min=1, metavar="SECONDS")] = 60,
    forever: Annotated[bool, typer.Option("--forever", help="Until Ctrl-C.")] = False,
    port: Annotated[
        int, typer.Option(help="Of the live page, on loopback; 0 chooses one.", min=0, max=65535, metavar="PORT")
    ] = 0,
    page: Annotated[bool, typer.Option("--page/--no-page", help="Whether there is a live page.")] = True,
    report: Annotated[Path, typer.Option(help="Where the page to keep is written.", metavar="FILE")] = Path("swoop-demo.html"),
) -> int:
    """Watch Swoop on a simulated feed of posts.

    There is a spam wave in it, and a story that breaks. Ctrl-C ends it earlier.

    [bold]Examples[/bold]

        swoop demo
        swoop demo --forever --port 8000
    """
    from swoop.cli import demo as command

    return command.demo(None if forever else seconds, port if page else None, report)


@app.command(cls=Command)
@guarded
def doctor(
    spark: Annotated[bool, typer.Option("--spark", help="Really start Spark.")] = False,
    warm: Annotated[bool, typer.Option("--warm", help="Compile the engine now, if it is not.")] = False,
    as_json: o.Json = False,
) -> int:
    """Tell what is there, what is missing, and what to do.

    The exit code is 1 if something needed is missing.

    [bold]Examples[/bold]

        swoop doctor
        swoop doctor --spark --warm
    """
    from swoop.cli import doctor as command

    return command.doctor(as_json, spark, warm)


@app.command(
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)
@guarded
def bench(context: typer.Context) -> None:
    """Do the paper's experiments again, or measure how fast Swoop is here.

    [bold]Examples[/bold]

        swoop bench
        swoop bench --stream dblp=dblp.xml.gz
        swoop bench performance --sets 20000 --spark-rows 0 --out performance.md
    """
    from swoop.paper.__main__ import main

    main(context.args)
