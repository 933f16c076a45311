package sinktest

// Features lists the parts of the contract that a sink or its destination lacks. The zero value lacks
// nothing. The suite fails a sink that has a feature that it is said to lack.
type Features struct {
	// NoKey is set if the destination gets no keys: those of Subject.Arrived are empty.
	NoKey bool

	// PlainHeaders is set if the destination restricts headers: a name has only letters,
	// digits and hyphens, and its case is lost; a value is printable ASCII. The same then
	// holds for keys.
	PlainHeaders bool

	// NoRefusal is set if the destination never refuses a single record. If it does, the
	// Subject must be a Refuser.
	NoRefusal bool

	// NoMute is set if no answer of the destination can be lost. If one can, the Subject
	// must be a Muter.
	NoMute bool

	// NoStall is set if there is no network in between that could be slow. If there is one, the
	// Subject must be a Staller.
	NoStall bool

	// NoMissing is set if the destination takes every topic. If a topic can be missing,
	// the Subject must be a Misser.
	NoMissing bool

	// NoLimit is set if the destination takes records of every size. If it has a limit,
	// the Subject must be a Limiter.
	NoLimit bool

	// NoClose is set if the sink has no method Close() error.
	NoClose bool
}
