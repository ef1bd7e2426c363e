// The commands that run recorded frames again.
#pragma once

#include "frame/frame.h"
#include "machine/what_if/what_if.h"

#include <string>
#include <vector>

namespace machine {

/// Runs a frame on `workers` virtual cores, and returns the recording and the report.
struct FrameRecording {
    std::vector<unsigned char> file;
    frame::Report report;
};
FrameRecording RecordFrames(frame::Frame &frame, uint32_t workers);

/// Records a described frame on virtual cores, and writes the file. Returns false after a message.
bool RecordFile(const std::string &frameFile, uint32_t workers, const std::string &recording);

/// Prints the table for a recording. `json`: the file for the page; empty: none. Returns false,
/// after a message, if a file cannot be read or written, or nothing can run again.
bool PrintWhatIf(const std::string &recording, const std::string &json,
                 const WhatIfOptions &options);

/// Compares predictions from recordings of described frames with the truth: the same frames, with
/// the change in their description. Returns false if one is too far off.
bool CheckPredictions(const std::vector<std::string> &frameFiles, uint32_t workers);

}  // namespace machine
