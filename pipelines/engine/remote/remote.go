// Package remote has the runners whose workers are not in this process: those that submit jobs to a
// job server such as Flink's, and Dataflow. A program that imports it has them. They take their
// options from Beam's flags.
package remote

// lanes is the default number of lanes on a cluster.
const lanes = 8
