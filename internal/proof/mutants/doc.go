// Package mutants breaks leat's own rules, one at a time, and checks that a test notices.
//
// A [Mutant] is one small change of one file: an acknowledgement before the commit, an epoch that
// is not compared, "=" for "<=". It names the promise that it breaks and the one test that must
// fail then. The change overlays the sources for one `go test` (-overlay); the tree itself is never
// touched. Files that are embedded, such as SQL and Lua, are changed in the same way.
//
// A mutant that survives is a hole in the tests, and fails the run. So is a promise that
// no mutant breaks, which fails the tests of this package.
// See design 18.7.
package mutants
