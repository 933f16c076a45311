// Package admin has the words of operators: what they see of an outbox and what they
// ask of it, the same for every store. A store offers them as methods.
package admin
