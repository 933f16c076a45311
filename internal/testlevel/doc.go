// Package testlevel reads the level of every test from the sources, and chooses
// which tests run.
//
// A level is a directive in the doc comment of a test, an example or a fuzz test:
//
//	// TestConformance_Serializable runs the suite at isolation level SERIALIZABLE.
//	//
//	//leat:level 2
//	func TestConformance_Serializable(t *testing.T) {
//
// The directive above TestMain is the default of its package. A package that has tests but no
// default is an error, so that every test has a level:
//
//	0  in memory: engines, machines, simulation, suites on memory twins
//	1  each suite once a store in its usual configuration, on real servers
//	2  all other configurations, drivers, isolation levels and versions
//	4  private servers, kills, browsers, a million rows
//
// Level 3 is the race detector: it runs tests of levels 0 and 1 of the root module once more.
// Level 5, soaks and the like, has no tests of Go.
package testlevel
