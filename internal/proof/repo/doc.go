// Package repo finds leat's own sources for the proofs that read them.
package repo
