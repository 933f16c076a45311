// Package registry x.
package registry
