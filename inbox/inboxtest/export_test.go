package inboxtest

// PositionChecks are those of RunPositions, for their controls.
var PositionChecks = positionChecks
