package clocks

// Came is what Come is made of.
var Came = came

// Began is when this process has begun.
var Began = began
