package kernel

var ScaleWidth = scaleWidth
