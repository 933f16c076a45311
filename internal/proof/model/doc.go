// Package model checks models of leat's protocols exhaustively: it visits every reachable state of
// a model, for every order of its parts' actions and every placement of its bounded faults, and
// checks the promises in each.
//
// A model is a function from a state to the steps that are possible in it. States are
// values that can be compared. The search is breadth first, so the trace to a broken
// promise is as short as any.
//
// Each protocol comes with its forbidden variants: one rule left out, the rest as it is. A variant
// must break the promise that it is listed with (Case.Judge): if it passed, the model would detect
// nothing. For the same reason a model lists sights, which are states that the search must find.
//
// The sub-packages hold the models, package catalogue lists them, and the program cmd/models prints
// their results. See design 18.3.
package model
