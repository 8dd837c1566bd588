// One implementation for both module systems.
import testing from './dist/testing.js'

export const { Clock, inline, memory, runUntilIdle } = testing
