/* global expect, test */
const { join } = require('node:path')

const { connect } = require('leaseq')
const { worker } = require('leaseq/jobs')
const testing = require('leaseq/testing')
const app = require('./app.cjs')

const file = join(__dirname, 'app.cjs')
require('./suite.cjs')({ test, expect, connect, testing, worker, app, file })
