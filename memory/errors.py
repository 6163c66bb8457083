"""What can go wrong, sorted by who must act.

    MemorySystemError
    ├── InvalidInput            the user: the text cannot be used as it is
    ├── PersonErased            the user: everything was erased while an answer was on its way
    ├── AnsweredElsewhere       nobody: the message has its answer already
    ├── MemoryRefusal           the model: a memory tool said no; the text tells it what to do instead
    │   ├── CoreMemoryFull
    │   ├── TextNotFound
    │   ├── UnknownBlock
    │   └── NotKept
    ├── StorageError            the operator: the database cannot be used
    │   ├── DatabaseUnavailable
    │   ├── DatabaseTooNew
    │   ├── BackupFailed        a backup cannot be made, read or put back
    │   └── MirrorUnavailable   the hosted copy of memory cannot be reached; what it lacks waits
    ├── EmbedderError           the operator: the embedder cannot be loaded or run
    └── ModelError              the model's service: see each class
        ├── ModelUnavailable        no connection, or an error on its side
        ├── ModelOverloaded         it is overloaded; trying again later helps
        ├── ModelRateLimited        we asked too often; ``retry_after`` seconds
        ├── ModelResting            it failed several times in a row and is not asked for a while
        ├── ModelTimeout            no answer within our own deadline
        ├── ModelRejected           it refused the request itself (key, permission, malformed)
        ├── ContextOverflow         the request was longer than it accepts
        └── StreamInterrupted       the answer broke off; ``partial`` holds what came

Invariant: an error is never turned into an empty result. "Nothing found" and "search failed" differ.
"""


class MemorySystemError(Exception):
    """Root of every error this package raises on purpose. The message is one plain sentence."""


class InvalidInput(MemorySystemError):
    """The text or argument cannot be used; the message says what is wrong and what to do."""


class PersonErased(MemorySystemError):
    """Everything kept about the person was erased meanwhile. Nothing was written, so that nothing comes back."""


class AnsweredElsewhere(MemorySystemError):
    """The message has its answer already, by another process or an earlier attempt. Nothing was written."""


class MemoryRefusal(MemorySystemError):
    """A memory write was refused. The message is written for the model that asked for it."""


class CoreMemoryFull(MemoryRefusal):
    """Core memory would pass its limit. Nothing was written."""


class TextNotFound(MemoryRefusal):
    """The text to replace does not stand in core memory. Nothing was written."""


class UnknownBlock(MemoryRefusal):
    """There is no core memory block of that name. Nothing was written."""


class NotKept(MemoryRefusal):
    """The person asked that nothing of this conversation be remembered. Nothing was written."""


class StorageError(MemorySystemError):
    """The database cannot be used; the message says what the operator can do."""


class DatabaseUnavailable(StorageError):
    """The database cannot be opened, read or written."""


class DatabaseTooNew(StorageError):
    """The database was written by a newer version of the program."""


class BackupFailed(StorageError):
    """A backup cannot be made, read or put back; nothing was changed."""


class MirrorUnavailable(StorageError):
    """The hosted copy of memory cannot be reached or used; what it lacks waits."""


class NotesUnavailable(MemorySystemError):
    """A file of notes cannot be read or written; the message says what the operator can do."""


class EmbedderError(MemorySystemError):
    """The embedder cannot be loaded or run."""


class ModelError(MemorySystemError):
    """A model call failed. Raised by every ``ChatModel``; nothing else crosses that seam."""


class ModelUnavailable(ModelError):
    """No connection to the model's service, or an error on its side."""


class ModelOverloaded(ModelError):
    """The model's service is overloaded."""


class ModelRateLimited(ModelError):
    """The model's service limits our rate.

    Args:
        message: one plain sentence.
        retry_after: seconds after which trying again makes sense, or None where it did not say.
    """

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ModelResting(ModelError):
    """The model failed several times in a row, and is not asked for a while.

    Args:
        message: one plain sentence.
        retry_after: seconds after which it will be asked again.
    """

    def __init__(self, message: str, *, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ModelTimeout(ModelError):
    """The model gave no whole answer within our own deadline."""


class ModelRejected(ModelError):
    """The model's service refused the request itself: key, permission, unknown model, malformed."""


class ContextOverflow(ModelError):
    """The request was longer than the model accepts."""


class StreamInterrupted(ModelError):
    """The answer broke off in the middle.

    Args:
        message: one plain sentence.
        partial: the text that had arrived, possibly empty.
    """

    def __init__(self, message: str, *, partial: str = "") -> None:
        super().__init__(message)
        self.partial = partial
