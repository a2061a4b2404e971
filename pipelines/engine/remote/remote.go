// Package remote registers the runners whose workers are not in this process: universal and flink,
// which submit jobs to a job server, and dataflow. A program imports it to have them. They take
// their options from Beam's flags, such as --endpoint and --project.
package remote

// lanes is the default number of lanes on a cluster.
const lanes = 8
