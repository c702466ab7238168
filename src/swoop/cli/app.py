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
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """The k most similar pairs of records in a sliding window of a stream, exactly.

    A record is a set of tokens with a time: the words of a post, the items of a basket.

    [bold]Examples[/bold]

        swoop demo
        swoop run headlines.parquet --window '7 days'
        swoop stream incoming/ --window 1h
        swoop explain 1207 1193 headlines.parquet
    """


@app.command(cls=Command)
@guarded
def run(
    context: typer.Context,
    inputs: o.Inputs,
    id: o.Id = None,
    time: o.Time = None,
    text: o.Text = None,
    tokens: o.Tokens = None,
    stream: o.Stream = None,
    group_by: o.GroupBy = None,
    keep: o.Keep = None,
    tokenizer: o.Tokenize = "words",
    min_tokens: o.MinTokens = 0,
    time_unit: o.TimeUnit = None,
    time_format: o.TimeFormat = None,
    format: o.Format = None,
    encoding: o.Encoding = None,
    separator: o.Separator = None,
    window: o.WindowOption = "1 day",
    k: o.K = "10",
    similarity: o.SimilarityOption = "jaccard",
    min_similarity: o.MinSimilarity = None,
    copies: o.CopiesOption = "once",
    families: o.FamiliesOption = None,
    out: Annotated[
        str | None,
        typer.Option(
            help="Write all stays of pairs in the top-k to a .parquet, .csv or .jsonl file, or to a folder/.",
            metavar="FILE",
        ),
    ] = None,
    rejected: Annotated[
        str | None,
        typer.Option(help="Write rows that cannot be used, each with the reason, to such a file or folder/.", metavar="FILE"),
    ] = None,
    show: Annotated[int, typer.Option(help="Number of pairs to show.", metavar="N")] = 10,
    equal: o.Equal = True,
    as_json: o.Json = False,
    spark: o.Spark = False,
    master: o.Master = None,
    memory: o.Memory = "2g",
) -> int:
    """Find the most similar pairs of a whole history, from files.

    The window slides over the history; every pair that is among the k most similar at any moment is a result.
    Equal sets count as one, unless --copies each is given.
    Local files are read in this process; Spark is used if asked for, or if the input needs it.

    [bold]Examples[/bold]

        swoop run headlines.parquet --window '7 days'
        swoop run 'posts/*.jsonl' --time created_at --text title --text body
        swoop run baskets.parquet --tokens items -k 100 --out results.parquet
        swoop run posts.csv --keep author,url --out results.csv
        swoop run posts.csv --families 0.8 --window '1 hour'
        swoop run invoices.csv --group-by InvoiceNo --tokens StockCode --window '7 days'
        zcat clicks.csv.gz | swoop run - --window 30min --json
        swoop run s3a://logs/2024/ --master spark://host:7077 --out results/
    """
    from swoop.cli import run as command
    from swoop.cli.history import RunOptions
    from swoop.cli.standard_input import with_standard_input
    from swoop.reading.files import find_files

    reading = o.reading_options(id, time, text, tokens, stream, group_by, tokenizer, time_unit, time_format, min_tokens, keep)
    join = o.join_spec(context, k, window, similarity, min_similarity, copies, families)
    options = RunOptions(o.number_or_text(window), out, rejected, show, equal, as_json, spark, master, memory)
    options.check(join)
    with with_standard_input(inputs, format) as (paths, kind):
        files = find_files(paths, kind, encoding=encoding, separator=separator)
        return command.run(files, reading, join, options)


@app.command(cls=Command)
@guarded
def stream(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            help="A folder that receives files, kafka://host:port/topic with JSON messages, or - for standard input.",
            metavar="SOURCE",
        ),
    ],
    id: o.Id = None,
    time: o.Time = None,
    text: o.Text = None,
    tokens: o.Tokens = None,
    side: o.Stream = None,
    keep: o.Keep = None,
    tokenizer: o.Tokenize = "words",
    min_tokens: o.MinTokens = 0,
    time_unit: o.TimeUnit = None,
    time_format: o.TimeFormat = None,
    format: o.Format = None,
    encoding: o.Encoding = None,
    separator: o.Separator = None,
    schema: Annotated[
        str | None,
        typer.Option(
            help="'id long, time string, text string'; by default inferred from existing rows.",
            metavar="COLUMNS",
            rich_help_panel=o.COLUMNS,
        ),
    ] = None,
    window: o.WindowOption = "1 hour",
    k: o.K = "10",
    similarity: o.SimilarityOption = "jaccard",
    min_similarity: o.MinSimilarity = None,
    copies: o.CopiesOption = "once",
    families: o.FamiliesOption = None,
    lateness: Annotated[
        str | None,
        typer.Option(
            help="Allowed lateness of rows; by default 10 seconds, or 0 with integer times.",
            metavar="DURATION",
            rich_help_panel=o.JOIN,
        ),
    ] = None,
    max_ahead: Annotated[
        str | None,
        typer.Option(
            help="Reject rows further ahead of the latest one; by default 7 days or the window, off with integer times.",
            metavar="DURATION|off",
            rich_help_panel=o.JOIN,
        ),
    ] = None,
    changes: Annotated[
        str | None, typer.Option(help="Write changes of the top-k to this folder or kafka://host:port/topic.", metavar="TARGET")
    ] = None,
    late: Annotated[
        str | None, typer.Option(help="Write late rows here; by default under the checkpoint.", metavar="TARGET")
    ] = None,
    rejected: Annotated[
        str | None, typer.Option(help="Write unusable rows here; by default under the checkpoint.", metavar="TARGET")
    ] = None,
    alert: Annotated[
        str | None,
        typer.Option(
            help="When a pair or a family enters, post it in JSON to this web address, or run this command with it as input.",
            metavar="TARGET",
            rich_help_panel=o.ALERTS,
        ),
    ] = None,
    alert_from: Annotated[
        float | None,
        typer.Option(
            help="Least similarity of the pair, or least size of the family; by default all.",
            metavar="X",
            rich_help_panel=o.ALERTS,
        ),
    ] = None,
    alert_limit: Annotated[
        int | None,
        typer.Option(
            help="Alerts per minute, 60 by default; the next one tells how many were left out.",
            metavar="N",
            rich_help_panel=o.ALERTS,
        ),
    ] = None,
    target_size: Annotated[
        str, typer.Option(help="Size at which results in folders become a final file.", metavar="SIZE")
    ] = "64 MB",
    final_after: Annotated[
        str | None,
        typer.Option(help="Age at which they become final anyway; by default 10 minutes, less at first.", metavar="DURATION"),
    ] = None,
    retention: Annotated[
        str | None, typer.Option(help="Delete final files after this time; by default never.", metavar="DURATION")
    ] = None,
    equal: o.Equal = True,
    as_json: o.Json = False,
    checkpoint: Annotated[
        str | None,
        typer.Option(help="Folder for state; the next run resumes from it.", metavar="DIR", rich_help_panel=o.EXECUTION),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Process the available data, then exit.", rich_help_panel=o.EXECUTION)
    ] = False,
    no_flush: Annotated[
        bool,
        typer.Option(
            "--no-flush", help="With --once, keep waiting rows waiting until the next run.", rich_help_panel=o.EXECUTION
        ),
    ] = False,
    trigger: Annotated[
        str | None,
        typer.Option(help="Interval between batches, such as '1 second'.", metavar="DURATION", rich_help_panel=o.EXECUTION),
    ] = None,
    idle: Annotated[
        str | None,
        typer.Option(
            help="After this long without rows, advance time by the clock.", metavar="DURATION", rich_help_panel=o.EXECUTION
        ),
    ] = None,
    batch_size: Annotated[
        str | None,
        typer.Option(
            help="Maximum size of a batch: bytes of files (128 MB) or messages of a topic (200000).",
            metavar="SIZE",
            rich_help_panel=o.EXECUTION,
        ),
    ] = None,
    starting_offsets: Annotated[
        str,
        typer.Option(
            "--from", help="Starting offsets of a topic: earliest or latest.", metavar="OFFSETS", rich_help_panel=o.EXECUTION
        ),
    ] = "earliest",
    serve: Annotated[
        int | None,
        typer.Option(help="Serve the live page on this port; 0 picks a free one.", metavar="PORT", rich_help_panel=o.EXECUTION),
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="Title of the live page.", metavar="TEXT", rich_help_panel=o.EXECUTION)
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            help="Interface to bind; only this machine by default.",
            metavar="ADDRESS",
            rich_help_panel=o.EXECUTION,
        ),
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(help="Token required to view the page.", metavar="TOKEN", rich_help_panel=o.EXECUTION),
    ] = None,
    kafka_option: Annotated[
        list[str] | None,
        typer.Option(
            help="Setting of Kafka's clients, such as security.protocol=SASL_SSL, for all topics; can be repeated.",
            metavar="KEY=VALUE",
            rich_help_panel=o.EXECUTION,
        ),
    ] = None,
    kafka_options: Annotated[
        str | None,
        typer.Option(
            help="File of such settings, one per line: the place for passwords.", metavar="FILE", rich_help_panel=o.EXECUTION
        ),
    ] = None,
    avro_schema: Annotated[
        str | None,
        typer.Option(
            help="Messages of the topic are in Avro, with the schema of this file; by default they are JSON.",
            metavar="FILE",
            rich_help_panel=o.EXECUTION,
        ),
    ] = None,
    avro_skip: Annotated[
        int,
        typer.Option(
            help="Bytes before each Avro value: 5 where a schema registry's serializer has written them.",
            metavar="N",
            rich_help_panel=o.EXECUTION,
        ),
    ] = 0,
    jars: Annotated[
        str | None,
        typer.Option(
            help="Jars of the Kafka connector (and of spark-avro), comma-separated; by default they are downloaded.",
            metavar="FILES",
            rich_help_panel=o.EXECUTION,
        ),
    ] = None,
    cells: Annotated[
        int,
        typer.Option(
            help="Spread the window over a cluster in 3, 6, 10, ... cells; 1 keeps it in the driver.",
            metavar="N",
            rich_help_panel=o.EXECUTION,
        ),
    ] = 1,
    master: o.Master = None,
    memory: o.Memory = "2g",
) -> int:
    """Follow the most similar pairs of a live stream, or its families of near copies.

    Equal sets count as one, unless --copies each is given.
    Ctrl-C stops it; with --checkpoint, the next run resumes.

    [bold]Examples[/bold]

        swoop stream incoming/ --window 1h
        swoop stream incoming/ --window 10min --checkpoint state --changes out
        swoop stream kafka://localhost:9092/posts --window 1h --serve 8000
        swoop stream kafka://broker:9093/posts --kafka-options client.properties
        swoop stream kafka://broker:9092/posts --avro-schema post.avsc
        swoop stream incoming/ --families 0.8 --window 1h --serve 8000
        swoop stream incoming/ --families 0.8 --alert https://example.com/hook --alert-from 20
        swoop stream incoming/ --once --json
        tail -f posts.jsonl | swoop stream - --window 10min
        swoop stream hdfs:///incoming --master spark://master:7077 --cells 6 --checkpoint hdfs:///state
    """
    from swoop.cli import stream as command
    from swoop.cli.alerting import find_alert
    from swoop.cli.avro import Avro
    from swoop.cli.kafka_options import find_options

    stream_options = command.StreamOptions(
        source=source,
        format=format,
        schema=schema,
        encoding=encoding,
        separator=separator,
        starting_offsets=starting_offsets,
        checkpoint=checkpoint,
        changes=changes,
        late=late,
        rejected=rejected,
        kafka=find_options(kafka_option or (), kafka_options),
        avro=Avro.find(avro_schema, avro_skip),
        alert=find_alert(alert, alert_from, alert_limit, families is not None),
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
        equal=equal,
        serve=serve,
        title=title,
        host=host,
        token=token,
        jars=jars,
        cells=cells,
        master=master,
        memory=memory,
    )
    reading = o.reading_options(id, time, text, tokens, side, None, tokenizer, time_unit, time_format, min_tokens, keep)
    join = o.join_spec(context, k, window, similarity, min_similarity, copies, families)
    return command.stream(stream_options, reading, join, as_json)


@app.command(cls=Command)
@guarded
def explain(
    newer: Annotated[str, typer.Argument(help="Id of one record.", metavar="NEWER")],
    older: Annotated[str, typer.Argument(help="Id of the other record.", metavar="OLDER")],
    inputs: o.Inputs,
    id: o.Id = None,
    time: o.Time = None,
    text: o.Text = None,
    tokens: o.Tokens = None,
    group_by: o.GroupBy = None,
    tokenizer: o.Tokenize = "words",
    time_unit: o.TimeUnit = None,
    time_format: o.TimeFormat = None,
    format: o.Format = None,
    encoding: o.Encoding = None,
    separator: o.Separator = None,
    as_json: o.Json = False,
    spark: o.Spark = False,
    master: o.Master = None,
    memory: o.Memory = "2g",
) -> int:
    """Show two records side by side.

    Shows what they share, what only one of them has, and all similarities.

    [bold]Examples[/bold]

        swoop explain 5159 5016 headlines.parquet
        swoop explain 'post 3' 'post 1' 'posts/*.jsonl' --tokenizer 3-chars --json
    """
    from swoop.cli import explain as command
    from swoop.cli.standard_input import with_standard_input
    from swoop.reading.files import find_files

    reading = o.reading_options(id, time, text, tokens, None, group_by, tokenizer, time_unit, time_format, 0)
    with with_standard_input(inputs, format) as (paths, kind):
        files = find_files(paths, kind, encoding=encoding, separator=separator)
        return command.explain(newer, older, files, reading, as_json=as_json, spark=spark, master=master, memory=memory)


@app.command(cls=Command)
@guarded
def demo(
    seconds: Annotated[float, typer.Option(help="How long to run.", min=1, metavar="SECONDS")] = 60,
    forever: Annotated[bool, typer.Option("--forever", help="Run until Ctrl-C.")] = False,
    port: Annotated[
        int, typer.Option(help="Port of the live page, on loopback; 0 picks a free one.", min=0, max=65535, metavar="PORT")
    ] = 0,
    page: Annotated[bool, typer.Option("--page/--no-page", help="Serve a live page, or only use the terminal.")] = True,
    title: Annotated[str, typer.Option(help="Title of the live page.", metavar="TEXT")] = "Swoop demo",
    report: Annotated[Path, typer.Option(help="File for the report.", metavar="FILE")] = Path("swoop-demo.html"),
) -> int:
    """Watch Swoop on a simulated feed of posts.

    The feed contains a spam wave and a breaking story. Ctrl-C stops it early.

    [bold]Examples[/bold]

        swoop demo
        swoop demo --forever --port 8000
    """
    from swoop.cli import demo as command

    return command.demo(None if forever else seconds, port if page else None, report, title)


@app.command(cls=Command)
@guarded
def doctor(
    spark: Annotated[bool, typer.Option("--spark", help="Start Spark to check that it works.")] = False,
    warm: Annotated[bool, typer.Option("--warm", help="Compile the engine now if necessary.")] = False,
    as_json: o.Json = False,
) -> int:
    """Check the installation: what is present, what is missing, and how to fix it.

    The exit code is 1 if something required is missing.

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
    """Reproduce the paper's experiments, or measure how fast Swoop is on this machine.

    [bold]Examples[/bold]

        swoop bench
        swoop bench --data-set dblp=dblp.xml.gz
        swoop bench performance --sets 20000 --spark-rows 0 --out performance.md
    """
    from swoop.paper.__main__ import main

    main(context.args)
