"""Messages in Avro's binary encoding, which Spark's own package reads with the schema of a file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from swoop.cli.guard import WrongUsage

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

VALUE = "value"


@dataclass(frozen=True)
class Avro:
    """How values are written: the schema in JSON, and how many bytes come before each value."""

    schema: str
    skip: int = 0

    @classmethod
    def find(cls, file: str | None, skip: int) -> Avro | None:
        """The schema of a file, checked as far as that is possible without Spark."""
        if file is None:
            if skip:
                raise WrongUsage("--avro-skip goes with --avro-schema")
            return None
        try:
            schema = json.loads(Path(file).read_text(encoding="utf-8"))
        except (OSError, UnicodeError) as error:
            raise WrongUsage(f"--avro-schema {file} cannot be read: {getattr(error, 'strerror', None) or error}") from None
        except ValueError as error:
            raise WrongUsage(f"--avro-schema {file} is not JSON: {error}") from None
        if not isinstance(schema, dict) or schema.get("type") != "record" or not schema.get("fields"):
            raise WrongUsage(f"--avro-schema {file} is not the schema of a record: an object with the type 'record' and fields")
        if skip < 0:
            raise WrongUsage(f"--avro-skip must be a number of bytes, not {skip}")
        return cls(json.dumps(schema), skip)

    def read(self, messages: DataFrame, corrupt: str) -> DataFrame:
        """The fields of the messages' values; a value that cannot be read has none, and stands in the column ``corrupt``."""
        from pyspark.errors import AnalysisException
        from pyspark.sql import functions as F  # noqa: N812

        try:
            record = self._record()
            fields = messages.select(record.alias(VALUE)).schema[0].dataType.fieldNames()  # type: ignore[attr-defined]
        except TypeError as error:  # what py4j makes of a class that is not there
            raise WrongUsage(
                "Avro needs Spark's package spark-avro; name its jar with --jars, beside the connector's"
            ) from error
        except AnalysisException as error:
            raise WrongUsage(f"--avro-schema: Spark cannot use it: {str(error).splitlines()[0]}") from error
        rows = messages.select(VALUE, record.alias("record"))
        nothing = F.forall(F.array(*(F.col("record").getField(name).isNull() for name in fields)), lambda is_null: is_null)
        found = [F.col("record").getField(name).alias(name) for name in fields]
        return rows.select(*found, F.when(nothing, F.hex(VALUE)).alias(corrupt))

    def _record(self) -> Column:
        from pyspark.sql import functions as F  # noqa: N812
        from pyspark.sql.avro.functions import from_avro

        return from_avro(F.expr(f"substring({VALUE}, {self.skip + 1})"), self.schema, {"mode": "PERMISSIVE"})
