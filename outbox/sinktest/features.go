package sinktest

// Features says what a sink and its destination have less than the whole contract. The
// zero value is the whole. What is there must be claimed: see Claims.
type Features struct {
	// NoKey is set if keys are not carried to the destination: Subject.Arrived returns none.
	NoKey bool

	// PlainHeaders is set if the destination only takes headers whose names are letters,
	// digits and hyphens, in any case, and whose values are printable ASCII, and keys of
	// that kind.
	PlainHeaders bool

	// NoRefusal is set if the destination refuses no single record. Without it the
	// Subject is a Refuser.
	NoRefusal bool

	// NoMute is set if there are no answers that could be lost. Without it the Subject is
	// a Muter.
	NoMute bool

	// NoStall is set if there is no network that could be slow. Without it the Subject is
	// a Staller.
	NoStall bool

	// NoMissing is set if the destination takes every topic. Without it the Subject is a
	// Misser.
	NoMissing bool

	// NoLimit is set if the destination takes records of every size. Without it the
	// Subject is a Limiter.
	NoLimit bool

	// NoClose is set if the sink has no method Close() error.
	NoClose bool
}
