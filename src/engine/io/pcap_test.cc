// SPDX-License-Identifier: MIT
#include "engine/io/pcap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace fairlead::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

enum class Order { little, big };

// A file under construction, in the byte order of the machine that "wrote" it.
class File {
 public:
  explicit File(Order order) : order_(order) {}

  template <class T>
  File& put(T value) {
    if (order_ == Order::big) {
      value = std::byteswap(value);
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof value);
    return *this;
  }
  File& text(std::string_view text) {
    for (const char c : text) {
      bytes_.push_back(static_cast<std::byte>(c));
    }
    return *this;
  }
  File& pad() {
    while (bytes_.size() % 4 != 0) {
      bytes_.push_back(std::byte{0});
    }
    return *this;
  }

  File& classic(uint32_t magic, uint32_t link_type = 1) {
    return put(magic)
        .put<uint16_t>(2)
        .put<uint16_t>(4)
        .put<uint32_t>(0)
        .put<uint32_t>(0)
        .put<uint32_t>(65535)
        .put(link_type);
  }
  File& record(uint32_t seconds, uint32_t part, std::string_view frame) {
    const auto size = static_cast<uint32_t>(frame.size());
    return put(seconds).put(part).put(size).put(size + 100).text(frame);
  }

  File& section() {
    return put<uint32_t>(0x0a0d0d0a)
        .put<uint32_t>(28)
        .put<uint32_t>(0x1a2b3c4d)
        .put<uint16_t>(1)
        .put<uint16_t>(0)
        .put<uint64_t>(~0ULL)
        .put<uint32_t>(28);
  }
  File& interface(uint16_t link_type = 1, uint32_t snap = 0) {
    return put<uint32_t>(1)
        .put<uint32_t>(20)
        .put(link_type)
        .put<uint16_t>(0)
        .put(snap)
        .put<uint32_t>(20);
  }
  File& interface_with(uint8_t resolution, int64_t offset_s) {
    return put<uint32_t>(1)
        .put<uint32_t>(44)
        .put<uint16_t>(1)
        .put<uint16_t>(0)
        .put<uint32_t>(0)
        .put<uint16_t>(9)
        .put<uint16_t>(1)
        .put(resolution)
        .text(std::string_view("\0\0\0", 3))
        .put<uint16_t>(14)
        .put<uint16_t>(8)
        .put(offset_s)
        .put<uint32_t>(0)
        .put<uint32_t>(44);
  }
  File& enhanced(uint32_t interface, uint64_t ticks, std::string_view frame) {
    const auto size = static_cast<uint32_t>(frame.size());
    const uint32_t total = 32 + ((size + 3u) & ~3u);
    return put<uint32_t>(6)
        .put(total)
        .put(interface)
        .put(static_cast<uint32_t>(ticks >> 32))
        .put(static_cast<uint32_t>(ticks))
        .put(size)
        .put(size + 7)
        .text(frame)
        .pad()
        .put(total);
  }
  File& simple(uint32_t original, std::string_view frame) {
    const uint32_t total = 16 + ((static_cast<uint32_t>(frame.size()) + 3u) & ~3u);
    return put<uint32_t>(3).put(total).put(original).text(frame).pad().put(total);
  }
  File& obsolete(uint16_t interface, uint64_t ticks, std::string_view frame) {
    const auto size = static_cast<uint32_t>(frame.size());
    const uint32_t total = 32 + ((size + 3u) & ~3u);
    return put<uint32_t>(2)
        .put(total)
        .put(interface)
        .put<uint16_t>(9)
        .put(static_cast<uint32_t>(ticks >> 32))
        .put(static_cast<uint32_t>(ticks))
        .put(size)
        .put(size)
        .text(frame)
        .pad()
        .put(total);
  }

  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  Order order_;
  std::vector<std::byte> bytes_;
};

struct Seen {
  uint64_t time_ns;
  uint32_t original;
  std::string bytes;
  friend bool operator==(const Seen&, const Seen&) = default;
  friend void PrintTo(const Seen& seen, std::ostream* out) {
    *out << seen.time_ns << " ns, " << seen.original << ": " << seen.bytes;
  }
};

struct Story {
  std::vector<Seen> frames;
  std::string error;
  std::string warning;
  Precision precision = Precision::micro;
};

Story tell(Result<CaptureReader> reader) {
  Story story;
  if (!reader) {
    story.error = reader.error().message;
    return story;
  }
  for (;;) {
    const auto frame = reader->next();
    if (!frame) {
      story.error = frame.error().message;
      break;
    }
    if (!*frame) {
      break;
    }
    story.frames.push_back(
        {(*frame)->time_ns,
         (*frame)->original_length,
         {reinterpret_cast<const char*>((*frame)->bytes.data()), (*frame)->bytes.size()}});
  }
  const auto behind = reader->next();
  EXPECT_TRUE(behind && !*behind) << "frames behind the end";
  story.warning = reader->warning();
  story.precision = reader->precision();
  return story;
}

Story read(const std::vector<std::byte>& bytes) {
  return tell(CaptureReader::from_memory("memory", bytes));
}

class BothOrders : public ::testing::TestWithParam<Order> {};
INSTANTIATE_TEST_SUITE_P(, BothOrders, ::testing::Values(Order::little, Order::big),
                         [](const auto& which) {
                           return which.param == Order::little ? "little_endian" : "big_endian";
                         });

TEST_P(BothOrders, a_classic_capture_gives_its_frames_and_their_times) {
  File file(GetParam());
  file.classic(0xa1b2c3d4).record(5, 7, "one").record(6, 999'999, "").record(7, 0, "three");
  const Story story = read(file.bytes());
  EXPECT_EQ(story.frames, (std::vector<Seen>{{5'000'007'000, 103, "one"},
                                             {6'999'999'000, 100, ""},
                                             {7'000'000'000, 105, "three"}}));
  EXPECT_THAT(story.error, IsEmpty());
  EXPECT_THAT(story.warning, IsEmpty());
  EXPECT_EQ(story.precision, Precision::micro);
}

TEST_P(BothOrders, a_classic_capture_may_count_nanoseconds) {
  File file(GetParam());
  file.classic(0xa1b23c4d).record(5, 7, "one");
  const Story story = read(file.bytes());
  EXPECT_EQ(story.frames, (std::vector<Seen>{{5'000'000'007, 103, "one"}}));
  EXPECT_EQ(story.precision, Precision::nano);
}

TEST_P(BothOrders, pcapng_gives_frames_of_all_kinds_of_packet_blocks_and_skips_other_blocks) {
  File file(GetParam());
  file.section()
      .interface()
      .enhanced(0, 1'000'002, "enhanced")
      .put<uint32_t>(0x0bad)
      .put<uint32_t>(16)
      .put<uint32_t>(1)
      .put<uint32_t>(16)
      .simple(6, "simple")
      .obsolete(0, 2'000'003, "obsolete");
  const Story story = read(file.bytes());
  EXPECT_EQ(story.frames, (std::vector<Seen>{{1'000'002'000, 15, "enhanced"},
                                             {1'000'002'000, 6, "simple"},
                                             {2'000'003'000, 8, "obsolete"}}));
  EXPECT_THAT(story.error, IsEmpty());
  EXPECT_THAT(story.warning, IsEmpty());
}

TEST_P(BothOrders, each_interface_counts_time_in_its_own_unit) {
  File file(GetParam());
  file.section()
      .interface_with(9, 10)          // nanoseconds, 10 s later
      .interface_with(0x80 | 10, -1)  // 1/1024 s, 1 s earlier
      .interface_with(12, 0)          // picoseconds
      .interface_with(0, 0)           // seconds
      .enhanced(0, 5, "a")
      .enhanced(1, 2048 + 512, "b")
      .enhanced(2, 7'999, "c")
      .enhanced(3, 2, "d");
  const Story story = read(file.bytes());
  EXPECT_EQ(story.frames, (std::vector<Seen>{{10'000'000'005, 8, "a"},
                                             {1'500'000'000, 8, "b"},
                                             {7, 8, "c"},
                                             {2'000'000'000, 8, "d"}}));
  EXPECT_EQ(story.precision, Precision::nano);
}

TEST_P(BothOrders, times_that_do_not_fit_are_clamped_and_any_resolution_is_survived) {
  for (uint32_t resolution = 0; resolution < 256; resolution++) {
    File file(GetParam());
    file.section()
        .interface_with(static_cast<uint8_t>(resolution), INT64_MAX)
        .enhanced(0, ~0ULL, "x");
    file.interface_with(static_cast<uint8_t>(resolution), INT64_MIN).enhanced(1, 1, "y");
    const Story story = read(file.bytes());
    ASSERT_EQ(story.frames.size(), 2u);
    EXPECT_EQ(story.frames[0].time_ns, UINT64_MAX);
    EXPECT_EQ(story.frames[1].time_ns, 0u);
  }
}

TEST_P(BothOrders, a_new_section_forgets_interfaces_and_may_turn_the_byte_order) {
  File file(GetParam());
  file.section().interface().enhanced(0, 1, "first");
  File other(GetParam() == Order::little ? Order::big : Order::little);
  other.section().interface().enhanced(0, 2, "second").section().enhanced(0, 3, "third");
  std::vector<std::byte> bytes = file.bytes();
  bytes.insert(bytes.end(), other.bytes().begin(), other.bytes().end());
  const Story story = read(bytes);
  EXPECT_EQ(story.frames, (std::vector<Seen>{{1000, 12, "first"}, {2000, 13, "second"}}));
  EXPECT_THAT(story.error, HasSubstr("a frame of interface 0, and 0 are described"));
}

TEST(capture_reader, a_simple_packet_is_as_long_as_the_snap_length_allows) {
  File file(Order::little);
  file.section().interface(1, 4).simple(1500, "abcd");
  EXPECT_EQ(read(file.bytes()).frames, (std::vector<Seen>{{0, 1500, "abcd"}}));
}

TEST(capture_reader, other_link_types_are_refused_before_any_frame) {
  File classic(Order::little);
  classic.classic(0xa1b2c3d4, 113).record(1, 1, "cooked");
  EXPECT_THAT(read(classic.bytes()).error, HasSubstr("its link type is 113, and only Ethernet"));
  File ng(Order::little);
  ng.section().interface(101).enhanced(0, 1, "raw");
  EXPECT_THAT(read(ng.bytes()).error, HasSubstr("its link type is 101, and only Ethernet"));
}

TEST(capture_reader, a_link_type_with_a_checksum_length_is_still_ethernet) {
  File file(Order::little);
  file.classic(0xa1b2c3d4, 0x2400'0001).record(1, 1, "frame+fcs");
  EXPECT_EQ(read(file.bytes()).frames.size(), 1u);
}

// What a reader gives of a file cut anywhere: the frames that are whole, then a warning (an error
// while not even the header is there), never anything else.
void expect_every_cut_to_be_told(const std::vector<std::byte>& bytes, size_t header) {
  const Story whole = read(bytes);
  ASSERT_THAT(whole.error, IsEmpty());
  size_t told = 0;
  for (size_t size = 0; size < bytes.size(); size++) {
    const Story story = read({bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size)});
    ASSERT_LE(story.frames.size(), whole.frames.size());
    for (size_t i = 0; i < story.frames.size(); i++) {
      EXPECT_EQ(story.frames[i], whole.frames[i]);
    }
    if (size >= header) {
      EXPECT_THAT(story.error, IsEmpty()) << size;
      told += story.warning.empty() ? 0u : 1u;
    }
  }
  // Silent only where a record ends.
  EXPECT_GE(told + 16, bytes.size() - header);
}

TEST_P(BothOrders, a_cut_classic_capture_gives_what_is_whole_and_a_warning) {
  File file(GetParam());
  file.classic(0xa1b2c3d4).record(5, 7, "one").record(6, 8, "second").record(7, 9, "3");
  expect_every_cut_to_be_told(file.bytes(), 24);
  const Story story = read({file.bytes().begin(), file.bytes().end() - 1});
  EXPECT_EQ(story.frames.size(), 2u);
  EXPECT_EQ(story.warning,
            "memory: cut short: 1 of the 17 bytes from offset 65 on are missing, "
            "behind 2 whole frames");
}

TEST_P(BothOrders, a_cut_pcapng_capture_gives_what_is_whole_and_a_warning) {
  File file(GetParam());
  file.section()
      .interface_with(6, 0)
      .enhanced(0, 1, "one")
      .simple(3, "two")
      .obsolete(0, 2, "three");
  expect_every_cut_to_be_told(file.bytes(), 4);
}

TEST(capture_reader, an_impossible_length_ends_with_an_error_that_names_the_offset) {
  File file(Order::little);
  file.classic(0xa1b2c3d4)
      .record(5, 7, "one")
      .put<uint32_t>(6)
      .put<uint32_t>(0)
      .put<uint32_t>(0xffff'ffff)
      .put<uint32_t>(0)
      .text("rest");
  const Story story = read(file.bytes());
  EXPECT_EQ(story.frames.size(), 1u);
  EXPECT_THAT(story.error,
              HasSubstr("memory: corrupt at byte 43, behind 1 whole frames: a frame of "
                        "4294967295 bytes"));
}

TEST(capture_reader, contradicting_pcapng_lengths_are_errors) {
  const auto damaged = [](auto damage) {
    File file(Order::little);
    file.section().interface().enhanced(0, 1, "good");
    damage(file);
    const Story story = read(file.bytes());
    EXPECT_EQ(story.frames.size(), 1u);
    return story.error;
  };
  EXPECT_THAT(damaged([](File& f) { f.put<uint32_t>(99).put<uint32_t>(8); }),
              HasSubstr("a block of 8 bytes, which cannot be"));
  EXPECT_THAT(damaged([](File& f) { f.put<uint32_t>(99).put<uint32_t>(17); }),
              HasSubstr("a block of 17 bytes, which cannot be"));
  EXPECT_THAT(damaged([](File& f) {
                f.put<uint32_t>(99).put<uint32_t>(16).put<uint32_t>(0).put<uint32_t>(20);
              }),
              HasSubstr("16 bytes at its start and 20 at its end"));
  EXPECT_THAT(damaged([](File& f) {
                f.put<uint32_t>(6)
                    .put<uint32_t>(32)
                    .put<uint32_t>(0)
                    .put<uint64_t>(0)
                    .put<uint32_t>(1)
                    .put<uint32_t>(1)
                    .put<uint32_t>(32);
              }),
              HasSubstr("a frame of 1 bytes in a block of 32"));
  EXPECT_THAT(damaged([](File& f) { f.put<uint32_t>(6).put<uint32_t>(28); }),
              HasSubstr("a packet block of 28 bytes"));
  EXPECT_THAT(damaged([](File& f) {
                f.put<uint32_t>(0x0a0d0d0a).put<uint32_t>(28).put<uint32_t>(0x12345678);
              }),
              HasSubstr("a section header without a byte order"));
  EXPECT_THAT(damaged([](File& f) { f.put<uint32_t>(1).put<uint32_t>(0xffff'fff0); }),
              HasSubstr("an interface description of 4294967280 bytes"));
}

TEST(capture_reader, a_huge_unknown_block_is_skipped_without_being_held) {
  File file(Order::little);
  const uint32_t total = 12 + 3 * 1024 * 1024;
  file.section()
      .interface()
      .put<uint32_t>(77)
      .put(total)
      .text(std::string(total - 12, 'x'))
      .put(total)
      .enhanced(0, 9, "behind");
  EXPECT_EQ(read(file.bytes()).frames, (std::vector<Seen>{{9000, 13, "behind"}}));
}

TEST(capture_reader, what_is_no_capture_is_said_to_be_none) {
  EXPECT_THAT(tell(CaptureReader::open("no/such/file.pcap")).error,
              HasSubstr("no/such/file.pcap: cannot be opened: No such file"));
  EXPECT_THAT(tell(CaptureReader::open(".")).error, HasSubstr(".: cannot be read: Is a directory"));
  EXPECT_THAT(read({}).error, HasSubstr("is no capture: it has 0 bytes"));
  File text(Order::little);
  EXPECT_THAT(read(text.text("option foo").bytes()).error,
              HasSubstr("is neither pcap nor pcapng (it begins with 0x6f707469)"));
  File zipped(Order::little);
  EXPECT_THAT(read(zipped.put<uint32_t>(0x0008'8b1f).bytes()).error, HasSubstr("gunzip"));
}

TEST(capture_reader, a_pipe_is_read_like_a_file) {
  File file(Order::big);
  file.section().interface();
  std::mt19937 random(1);
  std::vector<std::string> frames;
  for (int i = 0; i < 400; i++) {
    frames.emplace_back(random() % 9000, static_cast<char>('a' + i % 26));
    file.enhanced(0, static_cast<uint64_t>(i), frames.back());
  }
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const std::string path = "/dev/fd/" + std::to_string(ends[0]);
  std::thread writer([&] {
    for (size_t at = 0; at < file.bytes().size();) {
      const ssize_t put = ::write(ends[1], file.bytes().data() + at,
                                  std::min<size_t>(10'007, file.bytes().size() - at));
      ASSERT_GT(put, 0);
      at += static_cast<size_t>(put);
    }
    ::close(ends[1]);
  });
  const Story story = tell(CaptureReader::open(path));
  writer.join();
  ::close(ends[0]);
  ASSERT_THAT(story.error, IsEmpty());
  ASSERT_EQ(story.frames.size(), frames.size());
  for (size_t i = 0; i < frames.size(); i++) {
    EXPECT_EQ(story.frames[i].bytes, frames[i]);
  }
}

TEST(capture_reader, random_damage_never_gives_more_bytes_than_there_are) {
  File classic(Order::little);
  classic.classic(0xa1b2c3d4)
      .record(1, 2, std::string(100, 'a'))
      .record(3, 4, std::string(70, 'b'));
  File ng(Order::little);
  ng.section()
      .interface_with(9, 1)
      .enhanced(0, 1, std::string(99, 'c'))
      .simple(50, std::string(50, 'd'));
  std::mt19937 random(7);
  for (const auto& original : {classic.bytes(), ng.bytes()}) {
    for (int i = 0; i < 20'000; i++) {
      std::vector<std::byte> bytes = original;
      for (uint32_t n = 1 + random() % 4; n != 0; n--) {
        bytes[random() % bytes.size()] = static_cast<std::byte>(random());
      }
      size_t given = 0;
      for (const Seen& seen : read(bytes).frames) {
        given += seen.bytes.size();
      }
      ASSERT_LE(given, bytes.size());
    }
  }
}

// The captures that tests share: odd traffic and files made to crash parsers.
TEST(capture_reader, every_shared_capture_is_read_or_refused_as_its_manifest_says) {
  const std::filesystem::path folder = "../../../tests/pcaps";
  std::ifstream manifest(folder / "MANIFEST.tsv");
  ASSERT_TRUE(manifest.is_open());
  std::string line;
  std::getline(manifest, line);
  size_t ethernet = 0;
  size_t others = 0;
  while (std::getline(manifest, line)) {
    std::istringstream columns(line);
    std::string name, size, sum, link, packets;
    for (std::string* column : {&name, &size, &sum, &link, &packets}) {
      std::getline(columns, *column, '\t');
    }
    if (link.empty()) {
      continue;
    }
    SCOPED_TRACE(name);
    const Story story = tell(CaptureReader::open((folder / name).string()));
    if (link.starts_with("EN10MB")) {
      ethernet++;
      EXPECT_EQ(std::min<size_t>(story.frames.size(), 400), std::stoul(packets)) << story.error;
    } else {
      others++;
      EXPECT_THAT(story.frames, IsEmpty());
      EXPECT_THAT(story.error, HasSubstr("only Ethernet"));
    }
  }
  EXPECT_GT(ethernet, 90u);
  EXPECT_GT(others, 15u);
}

class BothPrecisions : public ::testing::TestWithParam<Precision> {};
INSTANTIATE_TEST_SUITE_P(, BothPrecisions, ::testing::Values(Precision::micro, Precision::nano),
                         [](const auto& which) {
                           return which.param == Precision::micro ? "microseconds" : "nanoseconds";
                         });

TEST_P(BothPrecisions, what_was_written_is_read_back) {
  const std::string path = testing::TempDir() + "written.pcap";
  const std::string frame = "a frame";
  const auto bytes = std::as_bytes(std::span(frame));
  auto writer = CaptureWriter::create(path, GetParam());
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->write(1'700'000'000'123'456'789, bytes));
  ASSERT_TRUE(writer->write(UINT64_MAX, bytes.first(0)));
  ASSERT_TRUE(writer->close());
  const Story story = tell(CaptureReader::open(path));
  const uint64_t unit = GetParam() == Precision::micro ? 1000 : 1;
  ASSERT_EQ(story.frames.size(), 2u);
  EXPECT_EQ(story.frames[0], (Seen{1'700'000'000'123'456'789 / unit * unit, 7, frame}));
  EXPECT_EQ(story.frames[1].time_ns, 4'294'967'295'999'999'999 / unit * unit);
  EXPECT_EQ(story.precision, GetParam());
  EXPECT_THAT(story.warning, IsEmpty());
}

TEST(capture_writer, a_place_that_cannot_be_written_is_an_error) {
  const auto writer = CaptureWriter::create("no/such/folder/x.pcap", Precision::micro);
  ASSERT_FALSE(writer);
  EXPECT_THAT(writer.error().message, HasSubstr("no/such/folder/x.pcap: cannot be written"));
}

TEST(capture_writer, a_full_disk_is_noticed) {
  auto writer = CaptureWriter::create("/dev/full", Precision::micro);
  ASSERT_TRUE(writer);
  const std::vector<std::byte> frame(1000);
  bool failed = false;
  for (int i = 0; i < 100 && !failed; i++) {
    failed = !writer->write(0, frame);
  }
  EXPECT_TRUE(failed || !writer->close());
}

}  // namespace
}  // namespace fairlead::engine
