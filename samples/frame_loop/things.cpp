#include "things.h"

#include <cstdlib>
#include <map>

namespace frame_loop {
namespace {

struct KnownThing {
    int type;
    const char *sprite;
    char frame = 'A';
};

struct KnownMonster {
    int type;
    const char *sprite;
    int radius, height, speed;
};

// The numbers and names belong to the file format.
constexpr KnownMonster kMonsters[] = {
    {3004, "POSS", 20, 56, 2}, {9, "SPOS", 20, 56, 2},   {65, "CPOS", 20, 56, 2},   {3001, "TROO", 20, 56, 3},
    {3002, "SARG", 30, 56, 4}, {58, "SARG", 30, 56, 4},  {3005, "HEAD", 31, 56, 3}, {3006, "SKUL", 16, 56, 4},
    {3003, "BOSS", 24, 64, 3}, {69, "BOS2", 24, 64, 3},  {68, "BSPI", 64, 64, 4},   {66, "SKEL", 20, 56, 4},
    {67, "FATT", 48, 64, 3},   {64, "VILE", 20, 56, 5},  {71, "PAIN", 31, 56, 3},   {84, "SSWV", 20, 56, 2},
    {7, "SPID", 128, 100, 4},  {16, "CYBR", 40, 110, 4},
};

constexpr KnownThing kScenery[] = {
    {2001, "SHOT"},    {82, "SGN2"},      {2002, "MGUN"},    {2003, "LAUN"},    {2004, "PLAS"},
    {2005, "CSAW"},    {2006, "BFUG"},    {2007, "CLIP"},    {2048, "AMMO"},    {2008, "SHEL"},
    {2049, "SBOX"},    {2010, "ROCK"},    {2046, "BROK"},    {2047, "CELL"},    {17, "CELP"},
    {8, "BPAK"},       {2011, "STIM"},    {2012, "MEDI"},    {2014, "BON1"},    {2015, "BON2"},
    {2018, "ARM1"},    {2019, "ARM2"},    {2013, "SOUL"},    {83, "MEGA"},      {2022, "PINV"},
    {2023, "PSTR"},    {2024, "PINS"},    {2025, "SUIT"},    {2026, "PMAP"},    {2045, "PVIS"},
    {5, "BKEY"},       {6, "YKEY"},       {13, "RKEY"},      {40, "BSKU"},      {39, "YSKU"},
    {38, "RSKU"},      {2035, "BAR1"},    {2028, "COLU"},    {48, "ELEC"},      {30, "COL1"},
    {31, "COL2"},      {32, "COL3"},      {33, "COL4"},      {36, "COL5"},      {37, "COL6"},
    {34, "CAND"},      {35, "CBRA"},      {41, "CEYE"},      {42, "FSKU"},      {43, "TRE1"},
    {47, "SMIT"},      {54, "TRE2"},      {44, "TBLU"},      {45, "TGRN"},      {46, "TRED"},
    {55, "SMBT"},      {56, "SMGT"},      {57, "SMRT"},      {85, "TLMP"},      {86, "TLP2"},
    {70, "FCAN"},      {10, "PLAY", 'W'}, {12, "PLAY", 'W'}, {15, "PLAY", 'N'}, {18, "POSS", 'L'},
    {19, "SPOS", 'L'}, {20, "TROO", 'M'}, {21, "SARG", 'N'}, {24, "POL5"},      {25, "POL1"},
    {26, "POL6"},      {27, "POL4"},      {28, "POL2"},      {29, "POL3"},
};

constexpr int kHardSkill = 4, kSeveralPlayersOnly = 16;  // of a thing's flags
constexpr int kAlertFrames = 240, kKeepAway = 96;
constexpr Angle kMaxTurn = kQuarterTurn / 12;

uint32_t Random(uint32_t *state) { return (*state = *state * 1664525 + 1013904223) >> 8; }

int KindOf(const KnownMonster &known, TextureLoader *textures, Things *things) {
    MonsterKind kind{known.radius, known.height, known.speed, {}};
    for (int i = 0; i < 4; ++i) {
        kind.sprite[i] = textures->Sprite(known.sprite, static_cast<char>('A' + i));
        if (kind.sprite[i] == kNoSprite) kind.sprite[i] = kind.sprite[0];
    }
    if (kind.sprite[0] == kNoSprite) return kNone;
    things->kinds.push_back(kind);
    return static_cast<int>(things->kinds.size()) - 1;
}

bool Fits(const Level &level, const World &now, int self, const MonsterKind &kind, Fixed x, Fixed y,
          Footing *footing) {
    const Monster &monster = now.monsters[self];
    *footing = FootingAt(level, x, y, kind.radius, kBlocksAll | kBlocksMonsters);
    if (footing->blocked || footing->ceiling - footing->floor < kind.height ||
        footing->floor - monster.floor > kMaxStep || monster.floor - footing->lowestFloor > kMaxStep)
        return false;
    for (const Monster &other :
         now.monsters) {  // keep clear of where the others were, but never from moving apart
        const Fixed dx = std::abs(other.x - x), dy = std::abs(other.y - y), reach = ToFixed(kind.radius + 20);
        if (&other != &monster && dx < reach && dy < reach &&
            dx + dy < std::abs(other.x - monster.x) + std::abs(other.y - monster.y))
            return false;
    }
    return true;
}

}  // namespace

Things PlaceThings(const Level &level, TextureLoader *textures) {
    Things things;
    std::map<int, int> kinds;
    for (const Thing &thing : level.things) {
        if ((thing.flags & kSeveralPlayersOnly) != 0 || (thing.flags & kHardSkill) == 0) continue;
        const Fixed x = ToFixed(thing.x), y = ToFixed(thing.y);
        const int subsector = SubsectorAt(level, x, y);
        const int floor = level.sectors[level.subsectors[subsector].sector].floor;
        for (const KnownThing &known : kScenery) {
            const int sprite =
                known.type == thing.type ? textures->Sprite(known.sprite, known.frame) : kNoSprite;
            if (sprite != kNoSprite) things.scenery.push_back({x, y, floor, subsector, sprite});
        }
        for (const KnownMonster &known : kMonsters) {
            if (known.type != thing.type) continue;
            const auto [kind, isNew] = kinds.try_emplace(known.type, kNone);
            if (isNew) kind->second = KindOf(known, textures, &things);
            if (kind->second == kNone) continue;
            const uint32_t seed = static_cast<uint32_t>(things.start.monsters.size()) * 2654435761u + 1;
            const Angle angle = static_cast<Angle>((int64_t{thing.angle} << 32) / 360);
            things.start.monsters.push_back({x, y, angle, seed, kind->second, floor, subsector, 0, 0, 0, 0});
        }
    }
    return things;
}

void Think(const Level &level, const Things &things, const Viewpoint &viewer, const World &now, World *next,
           int first, int last) {
    for (int i = first; i < last; ++i) {
        Monster &monster = next->monsters[i];
        monster = now.monsters[i];
        const MonsterKind &kind = things.kinds[monster.kind];
        const Fixed eye = ToFixed(monster.floor + kind.height * 3 / 4);
        const bool sees = CanSee(level, monster.x, monster.y, eye, viewer.x, viewer.y, viewer.z - ToFixed(41),
                                 viewer.z + ToFixed(15));
        const Fixed dx = viewer.x - monster.x, dy = viewer.y - monster.y;
        monster.alert = sees ? kAlertFrames : std::max(monster.alert - 1, 0);
        const uint32_t chance = Random(&monster.random);
        Fixed speed = ToFixed(kind.speed);
        if (sees) {
            const Angle turn =
                AngleOf(dx, dy) - monster.angle;  // more than half a circle means the other way round
            monster.angle +=
                turn < 2 * kQuarterTurn ? std::min(turn, kMaxTurn) : std::max(turn, 0 - kMaxTurn);
            if (Distance(dx, dy) < ToFixed(kKeepAway + kind.radius)) speed = 0;
        } else {
            if (chance % 64 == 0) monster.angle += (chance >> 6) % 8 * (kQuarterTurn / 2);
            if (monster.alert == 0) speed /= 2;
        }
        monster.stepX = Multiply(speed, Cosine(monster.angle));
        monster.stepY = Multiply(speed, Sine(monster.angle));
    }
}

// The whole step, or along one axis to slide past a wall; else it looks for another way.
void Move(const Level &level, const Things &things, const World &now, World *next, int first, int last) {
    for (int i = first; i < last; ++i) {
        Monster &monster = next->monsters[i];
        const MonsterKind &kind = things.kinds[monster.kind];
        const Fixed stepX = monster.stepX, stepY = monster.stepY;
        if (stepX == 0 && stepY == 0) continue;
        bool moved = false;
        for (const auto &[dx, dy] :
             {std::pair{stepX, stepY}, std::pair{stepX, Fixed{0}}, std::pair{Fixed{0}, stepY}}) {
            Footing footing;
            if ((dx == 0 && dy == 0) || !Fits(level, now, i, kind, monster.x + dx, monster.y + dy, &footing))
                continue;
            monster.x += dx;
            monster.y += dy;
            monster.floor = footing.floor;
            monster.subsector = SubsectorAt(level, monster.x, monster.y);
            ++monster.walked;
            moved = true;
            break;
        }
        if (!moved) monster.angle += kQuarterTurn / 2 + Random(&monster.random) % (3 * kQuarterTurn);
    }
}

}  // namespace frame_loop
