// The commands that run recorded frames again.
#pragma once

#include "frame/frame.h"
#include "machine/what_if/what_if.h"

#include <functional>
#include <string>
#include <vector>

namespace machine {

/// Calls `run` on the virtual cores. It runs a scheduler with this recorder. Returns the recording.
std::vector<unsigned char> Record(const std::function<void(weft::Recorder *)> &run);

/// Records a frame that runs on `workers` virtual cores.
std::vector<unsigned char> RecordFrames(frame::Frame &frame, uint32_t workers);

/// Records a described frame and writes the file. Returns false after a message.
bool RecordFile(const std::string &frameFile, uint32_t workers, const std::string &recording);

/// Prints the table for a recording. `json`: the file for the page; empty: none. Returns false,
/// after a message, if a file cannot be read or written, or nothing can run again.
bool PrintWhatIf(const std::string &recording, const std::string &json,
                 const WhatIfOptions &options);

/// Compares predictions with the truth: for described frames, and for a pipeline of frames that
/// overlap. Returns false if one is too far off.
bool CheckPredictions(const std::vector<std::string> &frameFiles, uint32_t workers);

}  // namespace machine
