package doctor

// Supported reports whether leat works with a PostgreSQL of this version number, such as 150004.
func Supported(number int) bool { return number >= 140000 }

// Age judges the age of a database's oldest rows, in transactions or multixacts. The server stops at 2^31.
// By default, autovacuum freezes rows at a tenth of that.
func Age(age int64) Verdict {
	const limit = int64(1) << 31
	switch {
	case age > limit/5*4:
		return Fail
	case age > limit/2:
		return Warn
	default:
		return OK
	}
}
