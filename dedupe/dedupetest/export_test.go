package dedupetest

// Checks are those of Run, for their controls.
var Checks = checks
