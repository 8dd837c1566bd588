/** The kind of an error, which says what the caller should do. */
export type ErrorCode =
  'INVALID' | 'LEASE_LOST' | 'UNAVAILABLE' | 'INCOMPATIBLE' | 'CLOSED' | 'INTERNAL'

/** Every error of this package, except the reasons of abort signals. */
export class LeaseqError extends Error {
  /** Part of the interface; the message is not. */
  readonly code: ErrorCode
  /** For `UNAVAILABLE`: whether the operation may have been executed although no reply arrived. */
  readonly outcomeUnknown: boolean

  /** @internal */
  constructor(code: ErrorCode, message: string, outcomeUnknown = false) {
    super(message)
    this.code = code
    this.outcomeUnknown = outcomeUnknown
  }

  /** Whether the same call may succeed later without any change: `UNAVAILABLE` only. */
  get retryable(): boolean {
    return this.code === 'UNAVAILABLE'
  }
}

/** Fix the argument or the configuration. Nothing was changed. */
export class InvalidError extends LeaseqError {
  declare readonly code: 'INVALID'
}
/** Stop working on the item: the lease is no longer the current one. */
export class LeaseLostError extends LeaseqError {
  declare readonly code: 'LEASE_LOST'
}
/** Back off and retry; `outcomeUnknown` says whether the operation may have been executed. */
export class UnavailableError extends LeaseqError {
  declare readonly code: 'UNAVAILABLE'
}
/** Upgrade or reconfigure: data or a server of another version, or one that evicts. */
export class IncompatibleError extends LeaseqError {
  declare readonly code: 'INCOMPATIBLE'
}
/** Open a new client: this one was closed. */
export class ClosedError extends LeaseqError {
  declare readonly code: 'CLOSED'
}
/** Report a bug, or run `check`: the stored data is not as this library wrote it. */
export class InternalError extends LeaseqError {
  declare readonly code: 'INTERNAL'
}

const CLASSES = {
  INVALID: InvalidError,
  LEASE_LOST: LeaseLostError,
  UNAVAILABLE: UnavailableError,
  INCOMPATIBLE: IncompatibleError,
  CLOSED: ClosedError,
  INTERNAL: InternalError,
}

// Not enumerable, like the names of the built-in errors.
for (const Class of [LeaseqError, ...Object.values(CLASSES)]) {
  Object.defineProperty(Class.prototype, 'name', { value: Class.name, configurable: true })
}

/** @internal */
export function makeError(code: string, message: string, outcomeUnknown = false): LeaseqError {
  if (code in CLASSES) {
    return new CLASSES[code as ErrorCode](code as ErrorCode, message, outcomeUnknown)
  }
  return new InternalError('INTERNAL', message)
}

/** @internal */
export function invalid(message: string): LeaseqError {
  return makeError('INVALID', message)
}
