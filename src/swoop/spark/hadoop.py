"""Files where Spark has them: Hadoop's file systems, with the addresses, credentials and settings of the user's session.

An address means to Swoop what it means to Spark. Files of this machine are read and written without the way through Java, once
Hadoop has said where they are. On all others Spark's Java does the work.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from swoop.addresses import SCHEME, is_remote
from swoop.errors import InvalidArgument
from swoop.live import manifest
from swoop.live.files import LOCAL, Folder, create_by_listing, part_of

try:
    from py4j.protocol import Py4JError, Py4JJavaError
except ImportError:  # Spark's thin client, pyspark-client, has no Java beside it
    Py4JError = Py4JJavaError = PySparkException

OBJECT_STORES = frozenset({"s3a", "s3", "s3n", "gs", "oss", "cosn", "cos", "obs", "oci"})
"""Where a file appears, whole, when it is closed, and where a rename is a copy."""

ONE_STEP = frozenset({"hdfs", "webhdfs", "swebhdfs"})
"""Where a rename fails in one step if the name is taken. Elsewhere it may be two, or replace what is there."""

CONDITIONAL = "fs.option.create.conditional.overwrite"  # what Hadoop calls a file that is created only if there is none
SMALL = 1 << 20  # bytes up to which data passes through the connection to Java, as text; more go through a file

_STATUS = re.compile(r"\{path=(.*?); isDirectory=(true|false);", re.DOTALL)


def qualified(spark: SparkSession, path: str | os.PathLike[str]) -> str:
    """The whole address of a folder as Spark understands it: without a scheme, it lies on Spark's default file system."""
    _, where = _find(spark, path)
    return str(where.toString())


def open_folder(spark: SparkSession, path: str | os.PathLike[str]) -> Folder:
    """The folder that Spark understands by a path or an address."""
    system, where = _find(spark, path)
    uri = where.toUri()
    if uri.getScheme() != "file":
        return Folder(str(where.toString()), HadoopFileSystem(spark, system))
    local = str(uri.getPath())
    return Folder(local, LOCAL, local if _is_local(_settings(spark)) else f"file://{local}")


def check_new(spark: SparkSession, folder: str) -> None:
    """Refuse a folder that cannot be written or is there already. Over Spark Connect only writing it tells."""
    if _has_java(spark):
        system, where = _find(spark, folder)
        with _os_errors(folder):
            exists = system.exists(where)
        if exists:
            raise InvalidArgument(f"{folder!r} already exists; choose another folder")


def check_state_address(spark: SparkSession, folder: str) -> None:
    """Refuse a checkpoint whose state Spark could not read back, before there is any; see :func:`state_address`."""
    uri = _find(spark, folder)[1].toUri()
    is_here = uri.getScheme() == "file" and str(spark.sparkContext.master).startswith("local")
    if not is_here and str(uri.toString()) != folder:
        raise InvalidArgument(
            "with cells, the address of a checkpoint must not have spaces or other characters that addresses escape, since "
            f"Spark cannot read its state from there; this is {folder!r}. Use another checkpoint, or cells=1"
        )


@contextmanager
def state_address(spark: SparkSession, folder: str) -> Iterator[str]:
    """Where Spark finds the state of a checkpoint. Its reader looks for ``a b`` at ``a%20b``; a link has another name."""
    uri = _find(spark, folder)[1].toUri()
    if str(uri.toString()) == folder:
        yield folder
        return
    with tempfile.TemporaryDirectory() as name:
        link = os.path.join(name, "checkpoint")
        os.symlink(str(uri.getPath()), link)
        yield f"file:{link}"


def result_files(path: str | os.PathLike[str], spark: SparkSession | None = None) -> list[str]:
    """The files that hold all current results of an output folder, each row once.

    Listing the folder gives the final files only. These are also those that the stream has written since, so that nothing is
    missing; they can be read for ten minutes at least, whatever the stream does meanwhile.

    Parameters
    ----------
    path
        The folder, as it was given to ``start``.
    spark
        The session that knows the address; by default the active one. Without any, and over Spark Connect, the path must be
        one of this machine.

    Examples
    --------
    ::

        spark.read.parquet(*result_files("changes"))
        pd.read_parquet(result_files("changes"))
    """
    spark = spark or _active()
    if spark is not None and _has_java(spark):
        return manifest.result_files(open_folder(spark, path))
    if spark is not None and is_remote(path):
        raise InvalidArgument(
            f"over Spark Connect, result_files reads only folders of this machine, and {os.fspath(path)!r} is none; use "
            "spark.read.parquet with the folder, which gives what is final, or call result_files where Spark's driver is"
        )
    return manifest.result_files(path)


def _active() -> SparkSession | None:
    """The session of this process, if there is one."""
    try:
        return SparkSession.active()
    except Exception:  # there is none
        return None


def _has_java(spark: SparkSession) -> bool:
    """Whether Spark's driver is beside this process, as it is not over Spark Connect."""
    return hasattr(spark, "_jsparkSession")


def _settings(spark: SparkSession) -> Any:
    """Hadoop's settings as Spark's own streams have them: those of the context, and on top of them those of the session."""
    return spark._jsparkSession.sessionState().newHadoopConf()


def _is_local(settings: Any) -> bool:
    return str(settings.get("fs.defaultFS", "file:///")).startswith("file:")


def _find(spark: SparkSession, given: str | os.PathLike[str]) -> tuple[Any, Any]:
    """The file system that a path is on, and the whole path."""
    settings, path = _settings(spark), os.fspath(given)
    if not SCHEME.match(path) and _is_local(settings):
        path = os.path.abspath(path)  # Java has a working folder of its own
    jvm: Any = spark._jvm
    try:
        where = jvm.org.apache.hadoop.fs.Path(path)
        system = where.getFileSystem(settings)
        return system, system.makeQualified(where)
    except (Py4JJavaError, PySparkException) as error:
        raise InvalidArgument(
            f"Spark cannot use the address {path!r}: {_reason(error)}. Check it, and whether Spark has the package and the "
            "settings for such addresses"
        ) from None


def _cause(error: Py4JJavaError) -> Any:
    """What went wrong in Java; where something was waited for, that is behind an exception which only says so."""
    found = error.java_exception
    while (
        str(found.getClass().getSimpleName()) in ("ExecutionException", "CompletionException") and found.getCause() is not None
    ):
        found = found.getCause()
    return found


def _reason(error: Exception) -> str:
    text = str(_cause(error).toString()) if isinstance(error, Py4JJavaError) else str(error)
    return text.split("\n", 1)[0]


@contextmanager
def _os_errors(path: str) -> Iterator[None]:
    """Errors of Java's as those that Python has for files."""
    try:
        yield
    except Py4JJavaError as error:
        match str(_cause(error).getClass().getSimpleName()):
            case "FileNotFoundException" | "NoSuchFileException":
                raise FileNotFoundError(path) from None
            case "FileAlreadyExistsException" | "RemoteFileChangedException":
                raise FileExistsError(path) from None
        raise OSError(f"{path}: {_reason(error)}") from None
    except (Py4JError, PySparkException) as error:
        raise OSError(f"{path}: {_reason(error)}") from None


class HadoopFileSystem:
    """One of Hadoop's file systems; what it can do decides how files become whole.

    Object stores show a file when it is closed. On others it is written beside its place and renamed: in one step where the
    file system can do that, as HDFS does. Of those that cannot refuse a name that is taken, many replace the file that has it.
    """

    def __init__(self, spark: SparkSession, system: Any) -> None:
        jvm, gateway = spark._jvm, spark.sparkContext._gateway
        fs: Any = jvm.org.apache.hadoop.fs  # type: ignore[union-attr]
        self._system, self._path, settings = system, fs.Path, _settings(spark)
        self._written: Any = jvm.org.apache.commons.lang3.ArrayUtils.toString  # type: ignore[union-attr]
        self._copy: Any = jvm.org.apache.hadoop.io.IOUtils.copyBytes  # type: ignore[union-attr]
        self._output: Any = jvm.java.io.FileOutputStream  # type: ignore[union-attr]
        scheme = str(system.getUri().getScheme())
        self._has_rename, self._is_one_step = scheme not in OBJECT_STORES, scheme in ONE_STEP
        self._context: Any = None
        if self._has_rename:
            with suppress(Py4JJavaError):  # an unusual one may have no context
                self._context = fs.FileContext.getFileContext(system.getUri(), settings)
            rename = getattr(fs, "Options$Rename")
            self._kept, self._replaced = (gateway.new_array(rename, 1) for _ in range(2))  # type: ignore[union-attr]
            self._kept[0], self._replaced[0] = rename.NONE, rename.OVERWRITE

    def names(self, folder: str) -> list[str]:
        try:
            with _os_errors(folder):
                found = self._system.listStatus(self._path(folder))
                statuses = _STATUS.findall(str(self._written(found)))  # each question to Java takes its time, so one for all
                if len(statuses) != len(found):
                    return [str(status.getPath().getName()) for status in found if status.isFile()]
        except FileNotFoundError:
            return []
        return [path.rpartition("/")[2] for path, is_folder in statuses if is_folder == "false"]

    def read(self, path: str) -> pa.Buffer:
        with _os_errors(path):
            where = self._path(path)
            status = self._system.getFileStatus(where)
            # with the status: S3A remembers files, and would take one that was replaced for what it was
            stream = self._system.openFile(where).withFileStatus(status).build().get()
            try:
                if status.getLen() <= SMALL:
                    return pa.py_buffer(stream.readAllBytes())
                with tempfile.NamedTemporaryFile(prefix="swoop-") as file:
                    self._copy(stream, self._output(file.name), 1 << 16, True)
                    with pa.OSFile(file.name) as copied:
                        return copied.read_buffer()
            finally:
                stream.close()

    def write(self, path: str, data: Any) -> None:
        with _os_errors(path):
            if not self._has_rename:
                self._put(path, data)
                return
            part = self._put_part(path, data)
            self._rename(part, path, replace=True)

    def create(self, path: str, data: bytes) -> bool:
        try:
            with _os_errors(path):
                if self._has_rename:
                    if not self._is_one_step:
                        return create_by_listing(self, path, data, self._put_new)
                    self._put_new(path, data)
                    return True
                where = self._path(path)
                if not self._system.hasPathCapability(where, CONDITIONAL):
                    return create_by_listing(self, path, data)
                stream = self._system.createFile(where).must(CONDITIONAL, "true").overwrite(True).recursive().build()
                stream.write(data)
                stream.close()
                return True
        except FileExistsError:
            return False

    def _put_new(self, path: str, data: bytes) -> None:
        """Write a file where none was a moment ago, and raise FileExistsError if there is one."""
        self._rename(self._put_part(path, data), path, replace=False)

    def _put_part(self, path: str, data: Any) -> str:
        part = part_of(path)
        try:
            self._put(part, data)
        except BaseException:
            with suppress(Exception):
                self._system.delete(self._path(part), False)
            raise
        return part

    def _put(self, path: str, data: Any) -> None:
        """Write a file, which is not closed if that fails: closing would show what there is of it."""
        where = self._path(path)
        if len(data) <= SMALL:
            stream = self._system.create(where, True)
            stream.write(bytes(data))
            stream.close()
            return
        with tempfile.NamedTemporaryFile(prefix="swoop-") as file:
            file.write(data)
            file.flush()
            self._system.copyFromLocalFile(False, True, self._path(f"file:{file.name}"), where)

    def _rename(self, part: str, path: str, replace: bool) -> None:
        source, target = self._path(part), self._path(path)
        try:
            if self._context is not None:
                self._context.rename(source, target, self._replaced if replace else self._kept)
                return
            if not replace and self._system.exists(target):
                raise FileExistsError(path)
            if self._moved(source, target):
                return
            if not replace:
                raise FileExistsError(path)
            self._system.delete(target, False)  # it does not replace files
            if not self._moved(source, target):
                raise OSError(f"{path}: the file could not be renamed from {part}")
        except BaseException:
            with suppress(Exception):
                self._system.delete(source, False)
            raise

    def _moved(self, source: Any, target: Any) -> bool:
        """Whether a file got its name: file systems say in two ways that they do not replace the one that has it."""
        try:
            return bool(self._system.rename(source, target))
        except Py4JJavaError as error:
            if str(_cause(error).getClass().getSimpleName()) == "FileAlreadyExistsException":
                return False
            raise

    def delete(self, path: str) -> None:
        with suppress(FileNotFoundError), _os_errors(path):
            self._system.delete(self._path(path), False)

    def remove(self, folder: str) -> None:
        with suppress(FileNotFoundError), _os_errors(folder):
            self._system.delete(self._path(folder), True)
