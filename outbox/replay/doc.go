// Package replay sends history that a source retains once more.
package replay
