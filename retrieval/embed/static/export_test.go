package static

// Half is what TestHalf holds to the standard.
var Half = half
