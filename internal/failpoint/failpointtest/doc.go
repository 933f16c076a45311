// Package failpointtest arms failure points.
//
// A test arms points on a [Registry] and puts it into the context with [With], so that parallel
// tests do not disturb each other. Separate processes read the variable [EnvPoints] instead, if
// they link this package.
//
// Only tests and test programs may link it: depguard and a test of internal/handbook look for
// others. A program that links it and arms nothing has no hook, so that benchmarks measure what
// users run.
package failpointtest
