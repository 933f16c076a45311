package sinktest

// The suite's parts, for its own controls.
var (
	Checks       = checks
	KillChecks   = killChecks
	Claims       = claims
	ErrLacks     = errLacks
	ErrUnclaimed = errUnclaimed
)
