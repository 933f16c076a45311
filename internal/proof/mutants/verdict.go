package mutants

import "time"

// Verdict is the result of a mutant. The zero value is none.
type Verdict int

const (
	// Killed means: the named test failed.
	Killed Verdict = iota + 1
	// Survived means: it passed although the rule is broken.
	Survived
	// BadMutant means that the mutant itself is wrong: its text does not occur, it does not compile, or
	// without it its test fails, is skipped or does not exist.
	BadMutant
	// Strayed means: something failed, but not the named test.
	Strayed
	// TimedOut means: the test did not end, which was not expected.
	TimedOut
	// Canceled means: the run ended before.
	Canceled
)

// String returns the verdict in a word or two.
func (v Verdict) String() string {
	switch v {
	case Killed:
		return "killed"
	case Survived:
		return "SURVIVED"
	case BadMutant:
		return "BAD MUTANT"
	case Strayed:
		return "STRAYED"
	case TimedOut:
		return "TIMED OUT"
	case Canceled:
		return "canceled"
	default:
		return "unknown"
	}
}

// Result is the result of one mutant, with its details.
type Result struct {
	Mutant  Mutant
	Verdict Verdict
	// Took is how long the test ran with the mutant, including the build.
	Took time.Duration
	// Detail is for human readers: the test's output, or the problem with the mutant.
	Detail string
}
