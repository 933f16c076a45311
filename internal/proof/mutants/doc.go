// Package mutants breaks leat's own rules, one at a time, and checks that a test notices.
//
// A [Mutant] is one small change of one file: an acknowledgement before the commit, an epoch that is not
// compared, "=" for "<=". It names the promise that it breaks and the one test that must then fail. The
// change overlays the sources for one `go test` (-overlay); the tree itself is never touched. Embedded
// files, such as SQL and Lua, are changed in the same way.
//
// A mutant that survives is a hole in the tests, and fails the run. The tests of this package fail if a
// promise is not broken by any mutant. See design 18.7.
package mutants
