// One implementation for both module systems: an error or a lease is the same class in each.
import leaseq from './dist/index.js'

export const {
  Client,
  ClosedError,
  connect,
  IncompatibleError,
  InternalError,
  InvalidError,
  ItemInfo,
  Lease,
  LeaseLostError,
  LeaseqError,
  Queue,
  scheduleTimes,
  UnavailableError,
} = leaseq
