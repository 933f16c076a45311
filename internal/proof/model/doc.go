// Package model checks models of leat's protocols exhaustively: it visits every state
// that a model can come to, in whatever order its parts act and wherever its bounded
// faults strike, and looks in each whether the promises hold.
//
// A model is a function from a state to the steps that are possible in it. States are
// values that can be compared. The search is breadth first, so the trace to a broken
// promise is as short as any.
//
// Each protocol comes with its forbidden variants: one rule left out, the rest as it
// is. A variant must break the promise that it is listed with (Case.Judge); one that
// passes would mean that the model sees nothing. For the same reason a model lists
// sights, states that the search must come across.
//
// The sub-packages hold the models, package catalogue all of them, and the program
// cmd/models prints what they come to.
// See design 18.3.
package model
