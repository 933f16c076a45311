// Package handbook keeps the pages for maintainers true: docs/maintaining.md, docs/internals/rules.md,
// docs/internals/design.md and CONTRIBUTING.md. [Check] reads a tree and returns what does not fit:
//
//   - a package that the map omits, or that no longer exists;
//   - a file, a function, a test, a directory or a target of make that a page names although
//     it does not exist, with the place where it is now;
//   - a rule that a comment or a test cites and no page defines, or that is never cited;
//   - a decision that is cited and does not exist, and numbers that are not in order.
//
// In the pages, `dir/file.go` names a file, `Type.Method()` a function of the file before it
// in the paragraph or in the row, `TestX` a test, and `make x` a target.
// [Surface] counts the names that packages show their users. [Tiers] compares the tiers in package
// comments with docs/versions.md. [Armed] looks for programs of users that could arm failure points.
//
// [ReadShelves] counts the words for users and for maintainers. [Clicks] returns how far an answer is
// from the start page. [English] finds phrases that a native engineer would not write.
//
// See design 18.8.
package handbook
