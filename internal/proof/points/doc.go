// Package points keeps the list of failure points correct. Code must reach each point, and tests must arm
// it with every kind of failure; otherwise [Audit] reports it. It reads the sources, so that neither the
// list nor the page that [Page] makes from it becomes outdated.
package points

//go:generate go run ../cmd/failurepoints
