#include "bench/exactness/regimes.h"

#include <iterator>
#include <memory>
#include <utility>

#include "absl/strings/str_format.h"

namespace expunge::bench {
namespace {

constexpr uint32_t kValueDimension = 4;
constexpr size_t kClusters = 4;
constexpr size_t kStreamPool = 48;
constexpr size_t kLargestOrder = 6;  // 720 orders

// C = 1, 1/2, 1/4 (1/C an integer: vertices without margin tokens), 0.1 (a double, not 1/10), and 2/7, 2/15.
constexpr solver::BoxBound kBoxes[] = {{0, 1.0}, {0, 0.5}, {0, 0.25}, {0, 0.1}, {4, 0}, {8, 0}};

constexpr double kRidges[] = {1e-8, solver::kDefaultRidge, 1e-4};

struct Kind {
  Keys keys;
  double jitter;
};
// As many as are coprime to the number of box bounds, so that all pairs occur.
constexpr Kind kKinds[] = {{Keys::kGaussian, 0},     {Keys::kClustered, 0.02}, {Keys::kClustered, 0},
                           {Keys::kClustered, 1e-8}, {Keys::kLattice, 0},      {Keys::kSymmetric, 0},
                           {Keys::kOffset, 0}};

size_t DimensionOf(Keys keys) { return keys == Keys::kLattice || keys == Keys::kSymmetric ? 3 : 6; }

std::vector<double> SymmetricKey(size_t i, size_t d) {
  std::vector<double> key(d, 0.0);
  if (i == 0) return key;
  const size_t pair = (i - 1) / 2;
  const size_t layer = pair / d;
  const double size = 1.0 + static_cast<double>(layer);
  key[pair % d] = i % 2 == 1 ? size : -size;
  return key;
}

// Of a grid of 2 x 3 x 4 points, then 2 x 3 x 5 and so on: each has many pairs at equal distances.
std::vector<double> GridKey(size_t i) {
  const size_t layer = i / 6;
  return {static_cast<double>(i % 2), static_cast<double>(i / 2 % 3), static_cast<double>(layer)};
}

std::vector<std::vector<double>> MakeKeys(Kind kind, size_t n, Generator* generator) {
  const size_t d = DimensionOf(kind.keys);
  std::vector<std::vector<double>> centres;
  for (size_t c = 0; c < kClusters; ++c) {
    centres.push_back(generator->Normals(d));
    for (double& x : centres.back()) x *= 2;
  }
  const bool grid = kind.keys == Keys::kLattice && generator->Below(2) == 0;
  std::vector<std::vector<double>> keys;
  for (size_t i = 0; i < n; ++i) {
    if (grid) {
      keys.push_back(GridKey(i));
      continue;
    }
    std::vector<double> key = kind.keys == Keys::kSymmetric ? SymmetricKey(i, d) : generator->Normals(d);
    for (size_t k = 0; k < d; ++k) {
      if (kind.keys == Keys::kClustered) key[k] = centres[i % kClusters][k] + kind.jitter * key[k];
      if (kind.keys == Keys::kLattice) key[k] = static_cast<double>(generator->Below(3));
      if (kind.keys == Keys::kOffset) key[k] += 1000;
    }
    keys.push_back(std::move(key));
  }
  return keys;
}

size_t TokensOf(const Regime& regime, uint64_t number) {
  switch (regime.change) {
    case Change::kInsertionOrders:
      return 1 + number % kLargestOrder;
    case Change::kStream:
      return kStreamPool;
    case Change::kDeletion:
      return regime.keys == Keys::kVitals ? kHours : 24;
  }
  return 0;
}

Regime Deletion(std::string name, Keys keys, double jitter, bool paper_setting) {
  Regime regime;
  regime.name = std::move(name);
  regime.keys = keys;
  regime.jitter = jitter;
  regime.paper_setting = paper_setting;
  return regime;
}

Regime EveryKind(std::string name, Change change, uint64_t cases) {
  Regime regime = Deletion(std::move(name), Keys::kEveryKind, 0, false);
  regime.change = change;
  regime.cases = cases;
  return regime;
}

std::vector<Regime> MakeRegimes() {
  std::vector<Regime> regimes = {
      Deletion("gaussian", Keys::kGaussian, 0, true),
      Deletion("redundant", Keys::kClustered, 0.02, true),
      Deletion("icu", Keys::kVitals, 0, true),
      Deletion("near_duplicates_0", Keys::kClustered, 0, false),
      Deletion("near_duplicates_1e-8", Keys::kClustered, 1e-8, false),
      Deletion("near_duplicates_1e-6", Keys::kClustered, 1e-6, false),
      Deletion("near_duplicates_1e-4", Keys::kClustered, 1e-4, false),
      Deletion("lattice", Keys::kLattice, 0, false),
      Deletion("offset_1000", Keys::kOffset, 0, false),
      EveryKind("insertion_orders", Change::kInsertionOrders, 60),
      EveryKind("streams", Change::kStream, 80),
  };
  regimes[0].paper = PaperFigures{"300/300", "99 %", "6.4e-3"};
  regimes[1].paper = PaperFigures{"300/300", "52 %", "9.6e-4"};
  regimes[2].paper = PaperFigures{"299/300", "98 %", "1.1e-2"};
  regimes[10].paper = PaperFigures{"66/80", "", ""};
  return regimes;
}

}  // namespace

const std::vector<Regime>& AllRegimes() {
  static const std::vector<Regime>* const kRegimes = new std::vector<Regime>(MakeRegimes());
  return *kRegimes;
}

Instance MakeInstance(const Regime& regime, uint64_t number, const std::vector<Stay>& stays,
                      Generator* generator) {
  const size_t n = TokensOf(regime, number);
  // Sizes of insertion orders vary fastest; then kind and box together.
  const uint64_t round = regime.change == Change::kInsertionOrders ? number / kLargestOrder : number;
  const Kind kind =
      regime.keys == Keys::kEveryKind ? kKinds[round % std::size(kKinds)] : Kind{regime.keys, regime.jitter};
  const std::vector<std::vector<double>> keys =
      kind.keys == Keys::kVitals ? stays[number % stays.size()] : MakeKeys(kind, n, generator);

  Instance instance;
  instance.config.key_dimension = static_cast<uint32_t>(keys.front().size());
  instance.config.value_dimension = kValueDimension;
  instance.config.gamma = 0.25;
  if (regime.paper_setting) {
    instance.config.box = {0, 1 / (0.4 * static_cast<double>(n))};
  } else {
    instance.config.box = kBoxes[round % std::size(kBoxes)];
    instance.config.ridge = kRidges[generator->Below(std::size(kRidges))];
  }
  for (size_t i = 0; i < n; ++i) {
    auto token = std::make_shared<solver::Token>();
    token->id = absl::StrFormat("t%02d", i);
    token->key = keys[i];
    token->value = generator->Normals(kValueDimension);
    instance.tokens.push_back(std::move(token));
  }
  return instance;
}

}  // namespace expunge::bench
