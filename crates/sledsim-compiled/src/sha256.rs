//! SHA-256, by which a scenario knows the file of a library again (FIPS 180-4).

/// Square roots of the first primes: what the sum begins with.
const BEGIN: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// Fractions of the cube roots of the first 64 primes, 32 bits of each.
fn rounds() -> [u32; 64] {
    let mut primes = (2_u64..).filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0));
    std::array::from_fn(|_| cube_root_bits(primes.next().unwrap_or(2)))
}

/// The first 32 bits behind the point of the cube root of a number: the root of the number times 2^96, without what is before them.
fn cube_root_bits(number: u64) -> u32 {
    let wanted = u128::from(number) << 96;
    let (mut least, mut above) = (0_u128, 1_u128 << 36);
    while above - least > 1 {
        let middle = u128::midpoint(least, above);
        if middle.checked_pow(3).is_some_and(|cube| cube <= wanted) {
            least = middle;
        } else {
            above = middle;
        }
    }
    least as u32
}

/// The sum of some bytes, in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let mut padded = bytes.to_vec();
    padded.push(0x80);
    padded.resize((padded.len() + 8).next_multiple_of(64) - 8, 0);
    padded.extend((bytes.len() as u64 * 8).to_be_bytes());
    let (rounds, mut sum) = (rounds(), BEGIN);
    padded.chunks_exact(64).for_each(|block| add(&mut sum, block, &rounds));
    sum.iter().map(|word| format!("{word:08x}")).collect()
}

fn add(sum: &mut [u32; 8], block: &[u8], rounds: &[u32; 64]) {
    let mut words = [0_u32; 64];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = bytes.iter().fold(0, |word, &byte| word << 8 | u32::from(byte));
    }
    for at in 16..64 {
        let (near, far) = (words[at - 2], words[at - 15]);
        let near = near.rotate_right(17) ^ near.rotate_right(19) ^ near >> 10;
        let far = far.rotate_right(7) ^ far.rotate_right(18) ^ far >> 3;
        words[at] = words[at - 16].wrapping_add(far).wrapping_add(words[at - 7]).wrapping_add(near);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *sum;
    for (word, round) in words.iter().zip(rounds) {
        let turned = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let one = h.wrapping_add(turned).wrapping_add(e & f ^ !e & g).wrapping_add(*round).wrapping_add(*word);
        let turned = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let other = turned.wrapping_add(a & b ^ a & c ^ b & c);
        (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(one), c, b, a, one.wrapping_add(other));
    }
    for (word, more) in sum.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *word = word.wrapping_add(more);
    }
}

#[cfg(test)]
mod tests {
    use super::hex;

    #[test]
    fn it_is_what_the_standard_says() {
        assert_eq!(hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(hex(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        let two_blocks = "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1";
        assert_eq!(hex(b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), two_blocks);
    }
}
