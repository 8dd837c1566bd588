finish()
