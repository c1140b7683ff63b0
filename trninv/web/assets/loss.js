import{S as e,b as t,f as n,k as r,r as i}from"./parts.js";import{a,c as o,u as s}from"./words.js";import{D as c,r as l,t as u}from"./jsxRuntime.js";import{B as d,z as f}from"./index.js";function p({name:e,now:t,before:n,unit:r=``,less:i=!1,isAnswer:s=!1,note:l}){let d=e=>e===null?`none`:o(e),f=e=>e===null||!r?``:` ${m(r,e)}`,p=n!==void 0&&n!==t,h=p&&(t===null||n!==null&&(i?t>n:t<n));return u(`div`,{class:s?`answer`:void 0,children:[u(`dt`,{children:e}),u(`dd`,{children:[p&&u(c,{children:[u(`s`,{children:[u(`span`,{class:`unseen`,children:`before `}),d(n)]}),` `,u(`span`,{"aria-hidden":`true`,children:`→`}),` `]}),l&&n===t&&u(`span`,{class:`quiet`,children:`unchanged, `}),u(`strong`,{children:[d(t),f(t)]}),(l||p&&n!==null&&t!==null)&&u(c,{children:[` `,u(`em`,{class:l?`quiet`:h?`worse`:`better`,children:l??a(n,t)})]})]})]})}var m=(e,t)=>e===`hop`||e===`link`||e===`chip`?`${e}${t===1?``:`s`}`:e,h=t(`
  fragment Surroundings on Server {
    address ordinal state model instance host vcpus
    hostMemory { gibibytes }
    lastChange { ...Changed }
    chips(first: 64) { nodes { address ordinal state tray job use lastChange { why } } }
    nics(first: 64) { nodes { address ordinal state factor bandwidth { gigabytesPerSecond } } }
    rack {
      address ordinal rackUnits
      servers(first: 36) { nodes { address ordinal state trays { ordinal kind rackUnits } } }
    }
    domain {
      address model wiring
      servers(first: 64) { nodes { rack { address } } }
      switches(first: 100) { nodes { address ordinal state lastChange { why } server { ordinal } rack { ordinal } } }
      links(filter: { scope: { in: [SERVER, RACK, DOMAIN] } }, first: 1000) {
        nodes {
          address state technology scope
          nominal { gigabytesPerSecond }
          bandwidth { gigabytesPerSecond }
          a { address }
          b { address }
        }
      }
    }
  }
`,[f]),g=t(`
  fragment Placed on Layout {
    box { x y width height }
    font
    strokeWidth
    panels { x y width height }
    labels { text x y anchor strong }
    places { address x y width height text sign solid { x y z } }
    routes { address strokes sign }
    wrapLinks
  }
`),_=t(`
  fragment History on EventConnection { totalCount nodes { ...Changed address batch } }
`,[f]),v=t(`
  query ServerPage($address: Address!, $domain: Address!, $inside: String!, $narrow: Boolean!) {
    unappliedFindingCount(scope: $address)
    incidents(scope: $address, first: 1) { nodes { id } }
    cordons(scope: $address, first: 1) { nodes { why who startedAt } }
    allLinks: links(filter: { domain: { eq: $domain }, address: { contains: $inside } }, first: 1) { totalCount }
    idleLinks: links(
      filter: { domain: { eq: $domain }, address: { contains: $inside }, bandwidth: { eq: { bytesPerSecond: "0" } } }
      first: 1
    ) { totalCount }
    nicLinks: links(
      filter: { domain: { eq: $domain }, address: { contains: $inside }, scope: { in: [HOST, FABRIC] } }
      first: 1
    ) { totalCount }
    layout(place: $address, narrow: $narrow) { ...Placed }
    events(scope: $address, last: 500) { ...History }
    resolve(address: $address) { __typename ... on Server { factor ...Surroundings } }
  }
`,[h,g,_]),y=t(`
  query ChipPage($address: Address!) {
    unappliedFindingCount(scope: $address)
    incidents(scope: $address, first: 1) { nodes { id } }
    events(scope: $address, last: 100) { ...History }
    resolve(address: $address) {
      __typename
      ... on Chip {
        address state factor tray job use
        memory { gibibytes }
        memoryBandwidth { gigabytesPerSecond }
        model { name coreModel }
        cores(first: 1) { totalCount }
        lastChange { ...Changed }
        links(first: 64) { nodes { ...WireWithEnds } }
        server { ...Surroundings }
      }
    }
  }
`,[h,_,f,d]),b=t(`
  fragment Capability on DomainImpact {
    domain chipsBefore chipsNow idleLinksBefore idleLinksNow incomparable
    poolBefore { gibibytes }
    poolNow { gibibytes }
    bisectionBefore { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
    bisectionNow { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
    allGatherBefore { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
    allGatherNow { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
  }
`),x=t(`
  query Loss($scope: Address!, $domain: Address!) {
    chips(filter: { domain: { eq: $domain } }, first: 1) { aggregates(by: [STATE]) { state count } }
    incidents(scope: $scope, first: 1) { nodes { impact { domains { ...Capability } } } }
  }
`,[b]),S=e=>e===`up`||e===`degraded`,C=e=>typeof e==`number`?e:e.upper.gigabytesPerSecond,w=e=>typeof e==`number`||e.exact?o(C(e)):`${o(e.lower.gigabytesPerSecond)} to ${o(C(e))}`;function T({name:e,before:t,now:n,unit:r=``,less:o=!1,note:s,remark:c}){let[l,d]=[C(t),C(n)],f=w(t)===w(n);return u(`div`,{children:[u(`dt`,{children:e}),u(`dd`,{children:[u(`span`,{children:u(i,{now:w(n)+r,before:f?void 0:w(t)})}),u(`em`,{class:(o?d>l:d<l)?`worse`:void 0,children:f?`same`:a(l,d)}),s&&u(`small`,{children:s}),c&&u(`small`,{class:`roomy`,children:c})]})]})}function E({loss:e}){let{chipsBefore:t,chipsNow:n,idleLinksBefore:r,idleLinksNow:i,bisectionBefore:a,bisectionNow:s}=e,c=s.exact&&w(a)===w(s);return u(`dl`,{class:`figures losses`,children:[u(T,{name:`Working chips`,before:t,now:n}),u(T,{name:`Idle links incl. NICs`,before:r,now:i,less:!0,remark:i>r?`to chips and to the fabric`:void 0}),u(T,{name:`All-gather limit`,before:e.allGatherBefore,now:e.allGatherNow,unit:` GB/s`}),u(T,{name:`Bisection bandwidth`,before:a,now:s,unit:` GB/s`,note:e.incomparable?`of ${o(n)}, not ${o(t)} chips`:i>r&&c?`idle links do not cross it`:void 0}),u(T,{name:`Memory pool`,before:e.poolBefore.gibibytes,now:e.poolNow.gibibytes,unit:` GiB`})]})}var D=({incidents:e},t)=>e.nodes[0]?.impact.domains.find(e=>e.domain===t);function O(t){let{data:n}=r(t?e(x,{scope:t,domain:t}):null);return n&&D(n,t)}function k({scope:t,domain:i}){let a=r(e(x,{scope:t,domain:i}));return u(n,{result:a,children:({chips:e,incidents:t})=>{let n=D({incidents:t},i);if(n)return u(E,{loss:n});let r=e.aggregates.reduce((e,{state:t,count:n})=>e+(S(t)?n:0),0);return u(`dl`,{class:`figures losses`,children:u(p,{name:`Working chips`,before:void 0,now:r})})}})}var A=({of:e,causes:t=1,children:n})=>u(`section`,{class:`card flush cost`,"aria-label":`What it costs`,children:[u(`h2`,{children:[u(`span`,{children:[`What `,t>1?`the worst cause`:`it`,` costs`,` `,e&&u(`a`,{href:l(`domain`,e),children:s(e.split(`/`)[0]??``,e)})]}),u(`span`,{class:`quiet`,children:`before → now`})]}),u(`div`,{class:`inner loss`,children:n})]}),j=({scope:e,domain:t})=>u(A,{of:t,children:u(k,{scope:e,domain:t})});function M({domain:t,causes:n,children:i}){let{data:a}=r(e(x,{scope:t,domain:t}));return u(c,{children:[u(A,{causes:n,children:u(k,{scope:t,domain:t})}),a&&!D(a,t)&&i]})}export{w as a,y as c,j as i,v as l,M as n,O as o,E as r,b as s,A as t,p as u};