"""A stream that is started again when Spark has failed, and not when the data or the query have."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable

from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from cerify.semantics.errors import CerifyError, InputError
from cerify.spark.errors import deserialize_error, error_line

ANOTHER_RUN = re.compile(r"Multiple streaming (jobs|queries)|Race while writing batch")  # Spark's words for two drivers
ONE_RUN = "another run uses the checkpoint of this stream, which only one may at a time; this one has ended"
LOGGER = logging.getLogger("cerify.spark")


def supervised(start: Callable[[], StreamingQuery], *, attempts: int = 5, pause: float = 10.0) -> None:
    """Start a stream, wait for its end, and start it again where Spark has failed, after `pause` seconds.

    start returns the running stream, which continues from its checkpoint. A stream that has finished a batch has all
    attempts again. Raises the errors of cerify at once, and Spark's exception when all attempts have failed in turn.
    """
    failed, batch = 0, -1
    while True:
        stream: StreamingQuery | None = None
        try:
            stream = start()
            stream.awaitTermination()
            return
        except PySparkException as error:
            found = deserialize_error(error)
            if isinstance(found, CerifyError):
                raise found from None
            if ANOTHER_RUN.search(str(error)):
                raise InputError(ONE_RUN) from None
            last = None if stream is None else stream.lastProgress
            reached = batch if last is None else int(last["batchId"])
            failed, batch = (1, reached) if reached > batch else (failed + 1, batch)
            if failed >= attempts:
                raise
            LOGGER.warning("the stream failed, and is started again in %g s: %s", pause, error_line(error))
            time.sleep(pause)
