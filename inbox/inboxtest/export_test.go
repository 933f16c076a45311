package inboxtest

// PositionChecks returns the checks of RunPositions, for their negative controls.
var PositionChecks = positionChecks
