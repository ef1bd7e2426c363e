// What the blocks of the adapters' pages take from around them, beside blocks.h: the adapters whose
// libraries Debian has, and names of the game. tests/adapters.sh compiles these blocks.
#pragma once

#include "third_party/adapters/asio/asio_executor.h"
#include "third_party/adapters/libjxl/jxl_runner.h"
#include "third_party/adapters/ode/ode_threading.h"
#include "third_party/adapters/openexr/exr_thread_pool.h"

#include <ImfFrameBuffer.h>
#include <ImfHeader.h>
#include <ImfInputFile.h>
#include <ImfOutputFile.h>
#include <jxl/decode_cxx.h>
#include <jxl/encode_cxx.h>
#include <ode/ode.h>
#include <asio/ip/tcp.hpp>

// Asio
extern weft::Counter levelIsLoaded;
void BeginSession(asio::ip::tcp::socket socket);
void RunGame();

// libjxl
std::vector<uint8_t> EncodePixels(JxlEncoder *encoder, const std::vector<uint8_t> &pixels);

// ODE
struct Place {};
std::vector<Place> PlacesIn(dWorldID world);

// OpenEXR
extern const int kHeight;
std::string FileName(uint64_t frame);
Imf::Header PictureHeader();
