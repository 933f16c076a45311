package doctor

// Supported reports whether leat works on a PostgreSQL of this number, such as 150004.
func Supported(number int) bool { return number >= 140000 }

// Age judges how old the oldest rows of a database are, in transactions or multixacts. At
// 2^31 the server stops; by itself autovacuum freezes them at a tenth of that.
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
