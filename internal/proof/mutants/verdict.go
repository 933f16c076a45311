package mutants

import "time"

// Verdict is the result of a mutant. The zero value is not a verdict.
type Verdict int

const (
	// Killed means that the named test failed.
	Killed Verdict = iota + 1
	// Survived means that the test passed although the rule is broken.
	Survived
	// BadMutant means that the mutant itself is wrong. Its text does not occur, it does not compile, or its
	// test fails, is skipped or does not exist without the mutant.
	BadMutant
	// Strayed means that something failed, but not the named test.
	Strayed
	// TimedOut means that the test unexpectedly did not end in time.
	TimedOut
	// Canceled means that the run ended before the mutant was tried.
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
	// Took is the duration of the test with the mutant, including the build.
	Took time.Duration
	// Detail is for human readers: the test's output, or the problem with the mutant.
	Detail string
}
